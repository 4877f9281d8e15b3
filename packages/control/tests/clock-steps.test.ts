// PostgreSQL's clock is set while control runs: nothing ends or is forgotten by time that never passed.

import { sql, type RawBuilder } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Sandbox } from "@skerry/contract/sandboxes/sandbox";
import { expiredRowsSweeper } from "../src/platform/expired-rows-sweeper.ts";
import { auditSweeper } from "../src/audit/audit-sweeper.ts";
import { evictUnused } from "../src/builds/cache-store.ts";
import { deadlines } from "../src/platform/clock-store.ts";
import type { ClockWatch } from "../src/platform/clock-watch.ts";
import { vmReconciler } from "../src/platform/vm-reconciler.ts";
import { sandboxReaper } from "../src/sandboxes/sandbox-reaper.ts";
import { activateBuilder, buildNow, newBuild } from "./support/builds.ts";
import {
  MINUTE_MS,
  HOUR_MS,
  DAY_MS,
  YEAR_MS,
  openStepped,
  type SteppedClock,
} from "./support/stepped-clock.ts";
import type { World } from "./support/world.ts";

const never = new AbortController().signal;

let world: World;
let clock: SteppedClock;
let replica: ClockWatch;
beforeEach(async () => {
  ({ world, clock, replica } = await openStepped());
});
afterEach(() => world[Symbol.asyncDispose]());

const step = (ms: number) => clock.step(ms);
const steps = () => clock.steps();
const shifted = async (id: string) => (await clock.shifted(id)) ?? Number.NaN;
const reap = () => sandboxReaper(world.context, 1_000, 30).activate(never);

async function sweepAll(): Promise<void> {
  await expiredRowsSweeper(world.context, 1_000).activate(never);
  await auditSweeper(world.context, 1_000, 30).activate(never);
  await evictUnused(world.db, 14);
}

async function statusOf(id: string): Promise<Sandbox["status"]> {
  return (await world.call<Sandbox>("GET", `/v1/sandboxes/${id}`)).body.status;
}

async function one<T>(query: RawBuilder<T>): Promise<T> {
  const { rows } = await query.execute(world.db);
  const [row] = rows;
  if (row === undefined) throw new Error("no row");
  return row;
}

/** Running, running and persistent, paused. */
async function threeSandboxes(): Promise<[string, string, string]> {
  const ephemeral = await world.createSandbox({ timeout: "1h" });
  const persistent = await world.createSandbox({ timeout: "1h", mode: "persistent" });
  const paused = await world.createSandbox({ timeout: "1h", mode: "persistent" });
  await world.call("POST", `/v1/sandboxes/${paused.id}/pause`);
  return [ephemeral.id, persistent.id, paused.id];
}

test.each([
  ["a year", YEAR_MS],
  ["a day", DAY_MS],
  ["two minutes, of a sandbox that has one", 2 * MINUTE_MS],
])("a clock that is set forward by %s neither destroys nor pauses a sandbox", async (_what, ms) => {
  const ids = await threeSandboxes();
  await sql`update sandboxes set expires_at = expires_at - interval '59 minutes' where ${ms === 2 * MINUTE_MS}`.execute(
    world.db,
  );
  const [id] = ids;
  const before = await shifted(id);
  const statuses = () => Promise.all(ids.map(statusOf));
  await step(ms);
  // Before any replica has found out, and afterwards.
  await reap();
  expect(await statuses()).toEqual(["running", "running", "paused"]);
  await replica.look();
  await reap();
  expect(await statuses()).toEqual(["running", "running", "paused"]);
  expect((await shifted(id)) - before).toBe(ms / MINUTE_MS);
  expect(await steps()).toEqual([ms / MINUTE_MS]);
});

test("after the step time goes on: what has run, or was paused, for long enough ends", async () => {
  const [ephemeral, persistent, paused] = await threeSandboxes();
  await clock.pass(29 * DAY_MS);
  await sql`update sandboxes set expires_at = now() + interval '1 hour' where status = 'running'`.execute(
    world.db,
  );
  await replica.look();
  await step(YEAR_MS);
  await replica.look();
  await clock.pass(HOUR_MS + 5 * MINUTE_MS);
  await replica.look();
  await reap();
  expect(await Promise.all([ephemeral, persistent, paused].map(statusOf))).toEqual([
    "destroyed",
    "paused",
    "paused",
  ]);
  await clock.pass(DAY_MS);
  await replica.look();
  await reap();
  expect(await statusOf(paused)).toBe("destroyed");
});

test("an organization keeps what it has behind it, and what its builds use, through a year that never passed", async () => {
  const { id } = await world.createSandbox();
  await world.call("DELETE", `/v1/sandboxes/${id}`);
  const machine = await world.createMachine();
  const host = await one(sql<{ id: string }>`select id from hosts`);
  await sql`insert into machine_ends (id, machine_id, cause, reason) values ('end_1', ${machine.id}, 'unknown', 'r')`.execute(
    world.db,
  );
  await sql`insert into e2b_archives (org_id, hash, upload) values (${world.orgId}, 'h', 'u')`.execute(
    world.db,
  );
  await sql`insert into e2b_archive_chunks (upload, org_id, index, content) values ('u', ${world.orgId}, 0, '')`.execute(
    world.db,
  );
  await sql`insert into usage_samples (org_id, minute) values (${world.orgId}, extract(epoch from now())::bigint / 60)`.execute(
    world.db,
  );
  await sql`
    insert into build_cache (id, org_id, host_id, key, kind, name, status, image, bytes)
    values ('c', ${world.orgId}, ${host.id}, 'k', 'run', 'n', 'ready', '{"layers":[]}', 1)`.execute(world.db);
  const kept = async () =>
    one(sql`select
      (select count(*) from sandboxes) as sandboxes, (select count(*) from vm_events) as events,
      (select count(*) from machine_ends) as ends, (select count(*) from audit_events where action like 'sandbox%') as audit,
      (select count(*) from e2b_archives) as archives, (select count(*) from e2b_archive_chunks) as chunks,
      (select count(*) from usage_samples) as usage,
      (select count(*) from build_cache where status = 'ready') as cached`);
  const before = await kept();
  expect(Object.values(before as object)).not.toContain("0");
  await step(YEAR_MS);
  await sweepAll();
  expect(await kept()).toEqual(before);
  await replica.look();
  await sweepAll();
  expect(await kept()).toEqual(before);
  // The days go on where the step has interrupted them.
  await clock.pass(29 * DAY_MS);
  await replica.look();
  await sweepAll();
  expect(await kept()).toMatchObject({ sandboxes: "1", audit: (before as { audit: string }).audit });
  await clock.pass(2 * DAY_MS);
  await replica.look();
  await sweepAll();
  expect(await kept()).toMatchObject({ sandboxes: "0" });
});

test("the database itself refuses to forget an audit event that a step has made old", async () => {
  await world.createSandbox();
  await step(YEAR_MS);
  const forget = () => sql`delete from audit_events`.execute(world.db);
  await expect(forget()).rejects.toThrow("append-only");
  await replica.look();
  await expect(forget()).rejects.toThrow("append-only");
});

test("a creation that is under way is not taken for one whose replica has died", async () => {
  const { id } = await world.createSandbox();
  await step(DAY_MS);
  // As its replica has written it a moment before the step.
  await sql`
    update sandboxes set status = 'creating', claimed_until = now() - interval '1 day' + interval '15 s' where id = ${id}`.execute(
    world.db,
  );
  await vmReconciler(world.context, 1_000).activate(never);
  expect([await statusOf(id), world.host.vms.has(id)]).toEqual(["creating", true]);
  await replica.look();
  const { ago } = await one(sql<{ ago: number }>`
    select round(extract(epoch from now() - claimed_until) / 3600)::integer as ago from sandboxes where id = ${id}`);
  expect(Math.abs(ago)).toBe(0);
});

test("a build goes on, and its context may still come", async () => {
  const { id } = await newBuild(world, { context: true });
  const activate = async (): Promise<void> => {
    const stop = AbortSignal.timeout(1_000);
    await activateBuilder(world, stop).catch(() => undefined);
  };
  await activate();
  await step(DAY_MS);
  await activate();
  expect((await buildNow(world, id)).status).toBe("queued");
  await replica.look();
  await activate();
  expect((await buildNow(world, id)).status).toBe("queued");
  const { left } = await one(sql<{ left: number }>`
    select round(extract(epoch from ends_by - created_at) / 3600)::integer as left from builds where id = ${id}`);
  expect(left).toBeGreaterThanOrEqual(24);
});

test("a clock that is set right again takes back what was added", async () => {
  const { id } = await world.createSandbox({ timeout: "1h" });
  await step(YEAR_MS);
  await replica.look();
  const later = await world.createSandbox({ timeout: "2h" });
  await clock.pass(5 * MINUTE_MS);
  await replica.look();
  await step(-YEAR_MS);
  await replica.look();
  expect([await shifted(id), await shifted(later.id)]).toEqual([0, -YEAR_MS / MINUTE_MS]);
  expect(await steps()).toEqual([YEAR_MS / MINUTE_MS, -YEAR_MS / MINUTE_MS]);
});

test("of a year that was added and taken back again, no day counts", async () => {
  const { id } = await world.createSandbox();
  await world.call("DELETE", `/v1/sandboxes/${id}`);
  await step(YEAR_MS);
  await replica.look();
  await clock.pass(DAY_MS);
  await replica.look();
  await step(-YEAR_MS);
  await replica.look();
  const ageOf = async (days: number) =>
    (
      await one(sql<{ old: boolean }>`
        select destroyed_at < steady_ago(${days} * interval '1 day') as old from sandboxes where id = ${id}`)
    ).old;
  expect([await ageOf(0.9), await ageOf(1.1)]).toEqual([true, false]);
});

test("what was put after the step and before it was found is not shifted", async () => {
  await step(YEAR_MS);
  const { id } = await world.createSandbox({ timeout: "1h" });
  await replica.look();
  expect([await shifted(id), await steps()]).toEqual([0, [YEAR_MS / MINUTE_MS]]);
});

/** Times ahead at which nothing of a tenant ends that is not made again at once, and whose end for others is
 *  a matter of security. */
const endByTheClockAsItIs = [
  ...["expires_at", "after_first_use"].map((column) => `api_tokens.${column}`),
  ...["join_tokens.expires_at", "login_codes.expires_at"],
  "hosts.certificate_expires_at",
  // A lease that another replica takes is fenced, and a second attempt at a request takes over from the
  // first.
  ...["leases.expires_at", "idempotency_keys.claimed_until"],
  // Until the next attempt, and URLs of the object store end by its own clock.
  ...["leases", "restarts", "stored_layers", "template_copies"].map((table) => `${table}.due_at`),
  ...["vms", "snapshots", "builds", "moves"].map((table) => `${table}.retry_at`),
  "apps.start_after",
  // A drain that ends early cuts what was still under way, and the deploy goes on.
  "app_instances.drains_until",
  ...["stored_layers.urls_until", "clock_eras.vouched_until"],
  // Names of times that are past.
  ...["hosts.last_heartbeat", "hosts.silent_until"],
];

test("each time ahead in the database is shifted by a step, or is among those that are not", async () => {
  const { rows } = await sql<{ name: string }>`
    select table_name || '.' || column_name as name from information_schema.columns
    join information_schema.tables using (table_schema, table_name)
    where table_schema = 'public' and table_type = 'BASE TABLE' and (
      data_type = 'timestamp with time zone' and column_name !~ '(_at|_since|^at)$'
      or column_name in ('expires_at', 'due_at', 'retry_at', 'certificate_expires_at')
    )`.execute(world.db);
  const shifted = deadlines.map(({ table, column }) => `${table}.${column}`);
  expect(rows.map(({ name }) => name).toSorted()).toEqual([...shifted, ...endByTheClockAsItIs].toSorted());
});
