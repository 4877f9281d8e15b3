// What an organization's calls leave in the database. Every operation that writes is called again and again: with new things, with the same thing, and
// so that it is refused. A table that grows by that has to be among `rowBounds`, which says what bounds it (row-bounds.test.ts holds it to that); and
// what is refused leaves no row at all. So few calls show what many would: a table grows by the first rows as it does by the last ones, and refusals
// that leave a row each leave more than two with the third call. A full run makes a thousand calls of most operations all the same, in case something
// begins to grow only after some of them.

import { sql } from "kysely";
import { afterEach, beforeAll, expect, test } from "vitest";
import { limitDefaults, limitNames, type OrganizationLimits } from "@skerry/contract/limits/quotas";
import type { Scope } from "@skerry/contract/organizations/scopes";
import { isFullRun, third } from "../../../tests/support/sampling.ts";
import type { GuardedOperation, Operation } from "../src/api/operation.ts";
import { answersStream } from "../src/api/register-routes.ts";
import { operations, type OperationId } from "../src/app/operations.ts";
import { archiveOperations, e2bOperations } from "../src/e2b/e2b-operations.ts";
import type { Call } from "./calls/call.ts";
import { calls } from "./calls/calls.ts";
import { e2bCalls } from "./calls/e2b-calls.ts";
import { rowBounds, tablesOfTheOperator } from "./support/row-bounds.ts";
import { grown, tableNames, tableSizes, type Size } from "./support/table-sizes.ts";
import { useWorld, type World } from "./support/world.ts";

const MINUTE_MS = 60_000;
const MINUTES_MS = 5 * MINUTE_MS;
const TIMES = isFullRun ? 250 : 6;
/** Each has something made for it. */
const NEW_THINGS = isFullRun ? 20 : 2;
/**
 * One of a kind is written at once, and the others are counted: one event for each minute that ends
 * meanwhile.
 */
const REFUSED_ROWS_MAX = 2;

const quotas = limitNames.map((name) => [name, name.startsWith("rate") ? 1_000_000 : limitDefaults[name]]);
// Object.fromEntries forgets which names it was given.
const world = useWorld({ organization: Object.fromEntries(quotas) as OrganizationLimits, buildCacheGib: 10 });

/** They act for the whole installation, and only the operator's tokens may call them. */
const operatorScopes: readonly unknown[] = ["hosts:read", "hosts:write", "metrics:read", "platform:write"];
/** As those are, but that they have another scope, or need no token. */
const ofTheOperator: readonly string[] = [
  "createOrganization",
  "deleteOrganization",
  "joinHost",
  "confirmHost",
];

type Prepare = (world: World) => Promise<Call>;

const isATenants = (id: string, { access }: Operation): boolean =>
  access !== "public" &&
  !operatorScopes.includes(access.scope) &&
  !operatorScopes.includes(access.asOperator) &&
  !ofTheOperator.includes(id);

/** An upgrade of the connection, which leaves what `executeInMachine` and the like do. */
const isUpgrade = ({ path }: Operation): boolean => /\/(exec|forward)$/.test(path);

/** Also those that read, where they leave an event of the audit log. */
const ours = Object.entries(operations).flatMap(([id, operation]): [string, Operation, Prepare][] =>
  isATenants(id, operation) &&
  (operation.method !== "GET" || operation.audit !== undefined) &&
  !(operation.method === "GET" && (answersStream(operation) || isUpgrade(operation)))
    ? // The keys are all there is; the type says what they are.
      [[id, operation, calls[id as OperationId]]]
    : [],
);

const theirs = Object.entries({ ...e2bOperations, ...archiveOperations } as Record<string, GuardedOperation>)
  .filter(([id, { method }]) => method !== "GET" || id === "uploadFilesLink")
  .map(([id, operation]): [string, Operation, Prepare] => [
    `e2b: ${id}`,
    operation,
    e2bCalls[id] ?? (() => Promise.reject(new Error(`tests/calls/e2b-calls.ts has no call of ${id}`))),
  ]);

const all = [...ours, ...theirs];
/** In a usual run a third of them, which the seed chooses. */
const tried = new Set(
  third(
    "operations of row growth",
    all.map(([id]) => id),
    () => false,
  ),
);
const some = all.filter(([id]) => tried.has(id));
const limited = new Map<Scope, string>();

beforeAll(async () => {
  Object.assign(world.host, { memoryMib: 10_000_000, cpus: 10_000 });
  await world.beat();
  for (const scope of ["sandboxes:read", "machines:read"] as const) {
    const minted = await world.call<{ token: string }>("POST", "/v1/auth/tokens", {
      body: { scopes: [scope] },
    });
    limited.set(scope, minted.body.token);
  }
});

afterEach(async () => {
  for (const table of ["organization_limits", "snapshots", "sandboxes", "machines", "builds", "e2b_builds"])
    await sql`delete from ${sql.table(table)}`.execute(world.db);
  for (const table of ["template_tags", "template_frozen", "template_hosts", "template_copies", "templates"])
    await sql`delete from ${sql.table(table)}`.execute(world.db);
  await sql`delete from memberships where created_at > (select min(created_at) from memberships)`.execute(
    world.db,
  );
  await sql`
    update api_tokens set revoked_at = now()
    where id not in (select id from api_tokens order by created_at limit 3) and revoked_at is null`.execute(
    world.db,
  );
  world.host.vms.clear();
});

async function send({ method, path, body }: Call, token = world.token) {
  const answer = await world.call(method, path, {
    token,
    ...(body !== undefined && { body }),
    ...(typeof body === "string" && { headers: { "content-type": "application/octet-stream" } }),
  });
  return { status: answer.status, requestId: answer.headers.get("x-request-id") ?? "" };
}

/** The call, on a thing that is made for it; undefined where a quota bounds how many such things there are.
 *  */
async function preparedWithin(prepare: Prepare): Promise<Call | undefined> {
  try {
    return await prepare(world);
  } catch (error) {
    if (error instanceof Error && error.message.includes('"quota_exceeded"')) return undefined;
    throw error;
  }
}

/** The names of tables that have grown and are not known to be bounded. */
function unbounded(before: ReadonlyMap<string, Size>, after: ReadonlyMap<string, Size>): string[] {
  return [...grown(before, after).keys()].filter((name) => rowBounds[name] === undefined);
}

test("each table is bounded for an organization, or the operator's alone", async () => {
  const known = [...Object.keys(rowBounds), ...tablesOfTheOperator];
  expect((await tableNames(world.db)).toSorted()).toEqual(known.toSorted());
});

test.each(some)(
  "%s writes to tables alone that have a bound",
  async (id, _operation, prepare) => {
    const before = await tableSizes(world.db);
    let done = 0;
    let last: Call | undefined;
    for (let thing = 0; thing < NEW_THINGS; thing += 1) {
      await world.beat();
      const call = await preparedWithin(prepare);
      if (call === undefined) break;
      if ((await send(call)).status < 400) done += 1;
      last = call;
    }
    // Otherwise this would show nothing.
    expect(done, id).toBeGreaterThan(0);
    const same = (await preparedWithin(prepare)) ?? last;
    for (let time = 0; time < TIMES && same !== undefined; time += 1) await send(same);
    expect(unbounded(before, await tableSizes(world.db))).toEqual([]);
  },
  MINUTES_MS,
);

interface Refusal {
  readonly call: Call;
  readonly token?: string | undefined;
}

/** What is wrong with a call, by what one says of it. */
function refusalsOf({ access, body }: Operation, call: Call): Record<string, Refusal> {
  const elsewhere = call.path
    .replace(/([a-z]{3}_)[0-9a-z]{26}/g, `$1${"0".repeat(26)}`)
    .replace(/(?<=\/)(?:[0-9a-z]{26}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?=\/|$)/g, "0".repeat(26))
    .replace(/\/web(?=\/|$)/, "/none");
  const scope = access === "public" ? null : access.scope;
  const token = limited.get(scope === "sandboxes:read" ? "machines:read" : "sandboxes:read");
  return {
    ...(body !== "bytes" &&
      call.body !== undefined && { malformed: { call: { ...call, body: { nonsense: 1 } } } }),
    ...(elsewhere !== call.path && { missing: { call: { ...call, path: elsewhere } } }),
    ...(scope !== null && { forbidden: { call, token } }),
    overQuota: { call },
  };
}

test.each(some)(
  "%s leaves no row where it is refused",
  async (_id, operation, prepare) => {
    const call = await prepare(world);
    for (const [what, { call: wrong, token }] of Object.entries(refusalsOf(operation, call))) {
      if (what === "overQuota")
        for (const name of limitNames.filter((limit) => limit.startsWith("quota")))
          await sql`
          insert into organization_limits (org_id, name, value) values (${world.orgId}, ${name}, 0)`.execute(
            world.db,
          );
      // What a token leaves that is used for the first time is there then.
      if ((await send(wrong, token)).status < 400) continue;
      const before = await tableSizes(world.db);
      const requests = new Set<string>();
      const begunMs = performance.now();
      for (let time = 0; time < TIMES; time += 1) requests.add((await send(wrong, token)).requestId);
      const more = new Map(grown(before, await tableSizes(world.db)));
      // Beside them the minute may end in which others were refused before, whose counts are written then.
      more.delete("audit_events");
      const minutes = Math.floor((performance.now() - begunMs) / MINUTE_MS);
      const events =
        await sql`select from audit_events where request_id = any(${[...requests]}::text[])`.execute(
          world.db,
        );
      expect([what, Object.fromEntries(more)]).toEqual([what, {}]);
      expect([what, events.rows.length <= REFUSED_ROWS_MAX + minutes]).toEqual([what, true]);
    }
  },
  MINUTES_MS,
);
