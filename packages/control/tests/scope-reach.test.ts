// Reach of two scopes of one token: each way that makes with one what another one reads is tried with each
// pair, and with the larger sets of the contract's table. It leads where that table says, and nowhere else.

import { readFileSync } from "node:fs";
import { beforeAll, expect, test } from "vitest";
import {
  reaches,
  scopeReach,
  scopeReachTable,
  type ReachId,
} from "@skerry/contract/organizations/scope-reach";
import { scopes, type NeededScope } from "@skerry/contract/organizations/scopes";
import { third } from "../../../tests/support/sampling.ts";
import { builtTemplate } from "./support/builds.ts";
import { createE2bSandbox, nativeId } from "./support/e2b.ts";
import { done, Members } from "./support/members.ts";
import { Holder, Refused, SECRET, type Body, type Theirs, type Way } from "./support/holder.ts";
import { ways } from "./support/scope-ways.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
let members: Members;
let theirs: Theirs;

beforeAll(async () => {
  world.host.memoryMib = 100_000_000;
  world.host.cpus = 100_000;
  await world.beat();
  members = new Members(world);
  const env = { SECRET };
  await world.call("PUT", "/v1/secrets/UNUSED", { body: { value: SECRET } });
  const [sandbox, machine] = [
    await world.createSandbox({ env, timeout: "2h" }),
    await world.createMachine({ env }),
  ];
  await world.call("POST", "/v1/apps", { body: { name: "theirs" } });
  await world.call("POST", "/v1/apps/theirs/deploys", { body: { template: "base", env } });
  const { sandboxID } = await createE2bSandbox(world, { network: { allowPublicTraffic: false } });
  const e2b = nativeId(sandboxID);
  for (const path of [`sandboxes/${sandbox.id}`, `sandboxes/${e2b}`, `machines/${machine.id}`])
    await world.call("PUT", `/v1/${path}/files/tmp/secret`, { body: SECRET });
  const take = (path: string) => done(201, world.call<Body>("POST", `/v1/${path}/snapshots`, { body: {} }));
  theirs = {
    sandbox: sandbox.id,
    e2b,
    snapshot: (await take(`sandboxes/${sandbox.id}`)).id,
    machine: machine.id,
    machineSnapshot: (await take(`machines/${machine.id}`)).id,
    template: String((await builtTemplate(world, { name: "theirs" })).template_id),
    member: (await members.newMember("viewer")).user_id,
  };
});

const needed = scopes.filter((scope): scope is NeededScope => scope !== "*");
const pairs = needed.flatMap((one, at) => needed.slice(at).map((other) => [...new Set([one, other])]));
const larger = Object.values(scopeReach).flatMap(({ by }: { by: readonly (readonly NeededScope[])[] }) =>
  by.filter((set) => set.length > 2),
);

/** Which ways led somewhere with these scopes. */
async function tried(given: readonly NeededScope[]): Promise<Map<Way, string>> {
  const { token } = await done(201, members.mint(world.token, { scopes: given }));
  const by = new Holder(world, token);
  const ends = new Map<Way, string>();
  for (const way of ways) {
    const [, , tryIt] = way;
    const end = await tryIt(by, theirs).then(
      () => "reached",
      (error: unknown) => {
        if (error instanceof Refused) return error.message;
        throw error;
      },
    );
    ends.set(way, end);
  }
  return ends;
}

/** The last test needs the sets of scopes that the table names. */
const named = new Set(
  Object.values(scopeReach).flatMap(({ by }) => by.map((set) => [...set].toSorted().join())),
);
const some = third("sets of scopes", [...pairs, ...larger], (pair) => named.has(pair.toSorted().join()));

const reachedBy = new Map<ReachId, string[]>();

test.each(some.map((pair) => [pair.join(" and "), pair] as const))(
  "with %s a token reaches what the table says, and nothing else",
  { timeout: 120_000 },
  async (_name, pair) => {
    const ends = [...(await tried(pair))];
    const reached = ends.flatMap(([way, end]) => (end === "reached" ? [way] : []));
    expect(reached.filter(([to]) => !reaches(pair, to)).map(([to, name]) => `${to}: ${name}`)).toEqual([]);
    for (const [to] of reached) reachedBy.set(to, [...(reachedBy.get(to) ?? []), pair.toSorted().join()]);
    const refused = ends.filter(([, end]) => end !== "reached");
    for (const [[, name], end] of refused)
      expect(["401", "403", "unknown_snapshot", "not told"], name).toContain(end);
  },
);

test("each set of scopes in the table does lead there", () => {
  for (const [id, { by }] of Object.entries(scopeReach))
    for (const needs of by)
      expect(reachedBy.get(id as ReachId) ?? [], id).toContain([...needs].toSorted().join());
});

test("the documentation and the API's document have the table", () => {
  const file = new URL("../../../docs/organizations.md", import.meta.url);
  expect(readFileSync(file, "utf8")).toContain(scopeReachTable());
  expect(JSON.stringify(world.server.app.swagger())).toContain(
    JSON.stringify(scopeReachTable()).slice(1, -1),
  );
});
