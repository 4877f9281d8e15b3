// What begins from a guest of an organization's template, where its host is full and no host with room has that template: it is brought there first.

import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SkerryError } from "@skerry/contract/errors";
import type { Machine } from "@skerry/contract/machines/machine";
import type { Sandbox, SandboxForks } from "@skerry/contract/sandboxes/sandbox";
import type { Snapshot } from "@skerry/contract/snapshots/snapshot";
import { mover } from "../src/moves/mover.ts";
import { templateSpreader } from "../src/moves/template-spreader.ts";
import { builtTemplate } from "./support/builds.ts";
import type { FakeHost } from "./support/fake-host.ts";
import { never, TwoHosts } from "./support/two-hosts.ts";
import type { Answer } from "./support/world.ts";

type Refusable<Body> = Body & { readonly code?: string; readonly message?: string };

let two: TwoHosts;
let template: string;
let from: FakeHost;
let to: FakeHost;

beforeEach(async () => {
  two = await TwoHosts.open();
  await two.ask();
  template = String((await builtTemplate(two.world)).template_id);
  [from, to] = two.first.templates.kept.has(template) ? [two.first, two.second] : [two.second, two.first];
});
afterEach(() => two[Symbol.asyncDispose]());

/** No room on the host that has the template. */
async function fill(fake = from): Promise<void> {
  fake.memoryMib = 100;
  await two.ask(fake.socketPath);
  await two.world.context.hostCapacity.refreshNow();
}

async function copies(): Promise<unknown[]> {
  return two.world.db.selectFrom("template_copies").select(["status", "reason"]).execute();
}

async function hasEnded(call: Promise<unknown>): Promise<boolean> {
  const pending = Symbol("pending");
  return (await Promise.race([call, new Promise((resolve) => setTimeout(resolve, 20, pending))])) !== pending;
}

/** Answers a call while what carries templates and snapshots is at work. */
async function carried<Body>(call: Promise<Answer<Body>>): Promise<Answer<Body>> {
  while (!(await hasEnded(call))) {
    await templateSpreader(two.world.context, 1_000).activate(never);
    await mover(two.world.context, 1_000).activate(never);
  }
  return call;
}

const origins = {
  sandboxes: { template: "web" },
  machines: { template: "web", command: "serve" },
} as const;

/** A guest of the template, and how many more can be begun of it. */
async function guest(kind: keyof typeof origins): Promise<string> {
  const answer = await two.world.call<Sandbox | Machine>("POST", `/v1/${kind}`, { body: origins[kind] });
  expect([answer.status, from.vms.has(answer.body.id)]).toEqual([201, true]);
  return answer.body.id;
}

type Kind = keyof typeof origins;
type Forks = Refusable<SandboxForks>;

const fork = (kind: Kind, id: string): Promise<Answer<Forks>> =>
  two.world.call("POST", `/v1/${kind}/${id}/fork`, { body: { count: 2 } });

test.each(["sandboxes", "machines"] as const)(
  "forks of %s begin on a host with room, which gets the template first, in the same call",
  async (kind) => {
    const id = await guest(kind);
    await fill();
    const { status, body } = await carried(fork(kind, id));
    expect(status, JSON.stringify(body)).toBe(201);
    expect(body.items.map((one) => to.vms.has(one.id))).toEqual([true, true]);
    expect(to.templates.has(template)).toBe(true);
    expect(await copies()).toEqual([]);
    // Nothing of it was frozen: they begin from memory that there is.
    expect([...to.templates.frozen]).toEqual([]);
  },
);

test.each(["sandboxes", "machines"] as const)(
  "what begins from a snapshot of %s does so on a host with room, which gets the template first",
  async (kind) => {
    const id = await guest(kind);
    const { body: snapshot } = await two.world.call<Snapshot>("POST", `/v1/${kind}/${id}/snapshots`);
    await fill();
    const create = () =>
      two.world.call<Refusable<Sandbox>>("POST", `/v1/${kind}`, { body: { snapshot: snapshot.id } });
    const { status, body } = await carried(create());
    expect(status, JSON.stringify(body)).toBe(201);
    expect([to.vms.has(body.id), to.templates.has(template), await copies()]).toEqual([true, true, []]);
  },
);

test("a fork is told why its template does not get to the host with room, and leaves nothing", async () => {
  const id = await guest("sandboxes");
  await fill();
  to.templates.failures.set("put", new SkerryError("disk_full", "Its disk is full."));
  const { status, body } = await carried(fork("sandboxes", id));
  expect([status, body.code]).toEqual([503, "template_not_ready"]);
  expect(body.message).toContain("Its disk is full.");
  expect(await copies()).toEqual([{ status: "failed", reason: "Its disk is full." }]);
  const rows = await two.world.db.selectFrom("sandboxes").select("id").execute();
  expect(rows).toEqual([{ id }]);
  expect([...from.snapshots.kept.keys(), ...to.vms.keys()]).toEqual([]);
});

test("nothing is brought where no other host has room for the forks, or their quota refuses them", async () => {
  const id = await guest("sandboxes");
  await fill();
  await sql`
    insert into organization_limits (org_id, name, value) values (${two.world.orgId}, 'quota_sandboxes', 2)`.execute(
    two.world.db,
  );
  expect((await carried(fork("sandboxes", id))).body.code).toBe("quota_exceeded");
  await sql`delete from organization_limits`.execute(two.world.db);
  await fill(to);
  expect((await carried(fork("sandboxes", id))).body.code).toBe("no_capacity");
  expect(await copies()).toEqual([]);
});
