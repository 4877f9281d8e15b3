// What an organization has had over time.

import { sql } from "kysely";
import { beforeEach, expect, test } from "vitest";
import type { Usage, UsagePoint } from "@skerry/contract/usage/usage";
import { expiredRowsSweeper } from "../src/platform/expired-rows-sweeper.ts";
import { usageSampler } from "../src/usage/usage-sampler.ts";
import { newBuild } from "./support/builds.ts";
import { useWorld, type Answer } from "./support/world.ts";

const world = useWorld();
const never = new AbortController().signal;

beforeEach(async () => {
  await sql`delete from usage_samples`.execute(world.db);
});

const measure = () => usageSampler(world.context, 1_000).activate(never);
const sweep = () => expiredRowsSweeper(world.context, 1_000).activate(never);

function usage(query = ""): Promise<Answer<Usage & { code?: string }>> {
  return world.call("GET", `/v1/usage${query}`);
}

const MINUTE_MS = 60_000;
const minutesAgo = (minutes: number) => Math.floor(Date.now() / MINUTE_MS) - minutes;
const DAY = 24 * 60;

/** Without `org`: that the minute was measured. */
async function had(
  minute: number,
  sample: Partial<UsagePoint> & { readonly org?: string } = {},
): Promise<void> {
  const { org = "", sandboxes = 0, memory_mib = 0, created = 0 } = sample;
  await sql`
    insert into usage_samples (org_id, minute, sandboxes, memory_mib, created)
    values (${org}, ${minute}, ${sandboxes}, ${memory_mib}, ${created})`.execute(world.db);
}

const shown = async (query = "") =>
  (await usage(query)).body.items.map(({ at, sandboxes, created }) => [
    Date.parse(at) / MINUTE_MS,
    sandboxes,
    created,
  ]);

test("what the organization has is measured, and what it has made is counted", async () => {
  const [first] = await Promise.all([1, 2].map(() => world.createSandbox()));
  await world.createMachine();
  await measure();
  await world.call("DELETE", `/v1/sandboxes/${first?.id}`);
  expect(await measure()).toMatchObject({ examined: 1, failed: 0 });
  const { body } = await usage("?step=1h");
  expect(body.step).toBe("1h");
  // Two, where an hour has just begun.
  const total = body.items.reduce((sum, { created }) => sum + created, 0);
  expect([total, body.items.length === 1 || body.items.length === 2]).toEqual([3, true]);
  const { sandboxes, machines, vcpus, memory_mib } = body.items[0] ?? {};
  // The most at once, also after one of them is gone.
  expect({ sandboxes, machines, vcpus, memory_mib }).toEqual({
    ...{ sandboxes: 2, machines: 1, vcpus: 3, memory_mib: 768 },
  });
  const stranger = await world.call<Usage>("GET", "/v1/usage?step=1h", {
    token: await world.strangerToken(),
  });
  expect(stranger.body.items.at(-1)).toMatchObject({ sandboxes: 0, machines: 0, vcpus: 0, created: 0 });
});

test("an organization that only builds is measured", async () => {
  const build = await newBuild(world, { size: "shared-cpu-2x" });
  const organization = sql`select vcpus, memory_mib, sandboxes, machines from usage_samples where org_id = ${world.orgId}`;
  await sql`delete from sandboxes`.execute(world.db);
  await sql`delete from machines`.execute(world.db);
  expect(await measure()).toMatchObject({ failed: 0 });
  expect((await organization.execute(world.db)).rows).toEqual([
    { vcpus: 2, memory_mib: "512", sandboxes: 0, machines: 0 },
  ]);
  await world.call("POST", `/v1/builds/${build.id}/cancel`);
  await sql`delete from usage_samples`.execute(world.db);
  await measure();
  expect((await organization.execute(world.db)).rows).toEqual([]);
});

test("a creation that is committed late is counted in the minute that it began in", async () => {
  const { id } = await world.createSandbox();
  await sql`update sandboxes set created_at = created_at - interval '5 minutes' where id = ${id}`.execute(
    world.db,
  );
  await had(minutesAgo(5));
  await had(minutesAgo(6));
  await measure();
  await measure();
  const created = (await shown("?step=1m")).filter(([, , made]) => (made ?? 0) > 0).map(([minute]) => minute);
  const { rows } = await sql<{ minute: number }>`
    select floor(extract(epoch from created_at) / 60)::integer as minute from sandboxes where id = ${id}`.execute(
    world.db,
  );
  expect(created).toContain(rows[0]?.minute);
});

test("a step tells the most at once and all that was made, nothing where there was nothing, and no step where none was measured", async () => {
  const start = Math.floor(minutesAgo(60) / 5) * 5;
  const org = world.orgId;
  for (const minute of [0, 1, 2, 10]) await had(start + minute);
  await had(start, { org, sandboxes: 3, created: 2 });
  await had(start + 1, { org, sandboxes: 7, created: 1 });
  await had(start + 2, { org, sandboxes: 5 });
  expect(await shown()).toEqual([
    [start, 7, 3],
    [start + 10, 0, 0],
  ]);
  expect(await shown("?step=1m")).toEqual([
    [start, 3, 2],
    [start + 1, 7, 1],
    [start + 2, 5, 0],
    [start + 10, 0, 0],
  ]);
  const at = (minute: number) => new Date((start + minute) * MINUTE_MS).toISOString();
  expect(await shown(`?step=1m&since=${at(1)}&until=${at(2)}`)).toEqual([[start + 1, 7, 1]]);
  expect(await shown(`?step=1m&since=${at(2)}&until=${at(1)}`)).toEqual([]);
});

test("minutes of days ago become ten minutes without losing a peak or a creation, and those of last month are forgotten", async () => {
  const old = Math.floor(minutesAgo(3 * DAY) / 10) * 10;
  const lately = minutesAgo(60);
  const org = world.orgId;
  for (let minute = 0; minute < 20; minute += 1) await had(old + minute);
  for (const [minute, sandboxes, created] of [
    [3, 2, 1],
    [7, 9, 2],
    [10, 4, 4],
    [19, 6, 8],
  ] as const)
    await had(old + minute, { org, sandboxes, created, memory_mib: 2 ** 32 });
  await had(minutesAgo(31 * DAY));
  await had(lately);
  const since = new Date((old - 10) * MINUTE_MS).toISOString();
  const before = await shown(`?step=10m&since=${since}`);
  expect(before.slice(0, 2)).toEqual([
    [old, 9, 3],
    [old + 10, 6, 12],
  ]);
  await sweep();
  await sweep();
  expect(await shown(`?step=10m&since=${since}`)).toEqual(before);
  const { rows } = await sql<{ minute: number }>`
    select distinct minute from usage_samples order by minute`.execute(world.db);
  expect(rows.map(({ minute }) => minute)).toEqual([old, old + 10, lately]);
});

test("steps that are no steps, and more of them than fit an answer, are refused", async () => {
  const month = new Date(Date.now() - 30 * DAY * MINUTE_MS).toISOString();
  for (const [query, code] of [
    ["?step=30s", "invalid_duration"],
    ["?step=90s", "invalid_duration"],
    ["?step=25h", "timeout_too_long"],
    ["?step=five", "invalid_duration"],
    ["?since=yesterday", "bad_request"],
    ["?until=2026-13-01", "bad_request"],
    [`?step=1m&since=${month}`, "bad_request"],
    ["?days=3", "unknown_field"],
  ] as const)
    expect([query, (await usage(query)).body.code]).toEqual([query, code]);
  for (const query of [`?since=${month}`, "?since=1970-01-01&step=24h", "?until=9999-01-01T00:00:00Z"])
    expect((await usage(query)).status).toBe(200);
});

const denied = async (token = world.token) =>
  (await world.call<Usage>("GET", "/v1/usage?step=1m", { token })).body.items.map(
    ({ at, denied: packets }) => [minutesAgo(0) - Date.parse(at) / MINUTE_MS, packets],
  );

test("what egress rules have refused is counted by organization and minute, and once, however often a host tells it", async () => {
  const [{ id }, machine] = [await world.createSandbox(), await world.createMachine()];
  const now = minutesAgo(0);
  await had(now - 3);
  world.host.metrics.denials = {
    items: [
      { id, minute: now - 3, packets: 7 },
      { id: machine.id, minute: now - 3, packets: 2 ** 33 },
    ],
  };
  await measure();
  await measure();
  const told = (await denied()).filter(([, packets]) => packets !== 0);
  expect(told.map(([, packets]) => packets)).toEqual([7 + 2 ** 33]);
  world.host.metrics.denials = { items: [{ id, minute: now - 3, packets: 9 }] };
  await measure();
  expect((await denied()).reduce((sum, [, packets = 0]) => sum + packets, 0)).toBe(7 + 2 ** 33);
  expect((await denied(await world.strangerToken())).every(([, packets]) => packets === 0)).toBe(true);
  // One that has gone counts on, so that a short life is not lost.
  await world.call("DELETE", `/v1/sandboxes/${id}`);
  world.host.metrics.denials = { items: [{ id, minute: now - 3, packets: 2 ** 34 }] };
  await measure();
  expect((await denied()).reduce((sum, [, packets = 0]) => sum + packets, 0)).toBe(2 ** 34);
});

test("a host tells of its own VMs alone, of the minutes that it was asked for, and no more than can be", async () => {
  const own = await world.createSandbox();
  const now = minutesAgo(0);
  for (const minute of [16, 1, 0]) await had(now - minute);
  world.host.metrics.denials = {
    items: [
      { id: "sbx_nobody", minute: now, packets: 5 },
      { id: own.id, minute: now + 5, packets: 5 },
      { id: own.id, minute: now - 60, packets: 5 },
      { id: own.id, minute: Number.MAX_SAFE_INTEGER, packets: 5 },
      { id: own.id, minute: now - 1, packets: Number.MAX_SAFE_INTEGER },
    ],
  };
  expect(await measure()).toMatchObject({ failed: 0 });
  const told = (await denied()).map(([, packets]) => packets).filter((packets) => packets !== 0);
  expect(told).toEqual([1_000_000_000_000]);
  const { rows } = await sql<{ minute: number }>`
    select minute from usage_samples where minute > ${minutesAgo(0)}`.execute(world.db);
  expect(rows).toEqual([]);
});

test("a host that cannot tell it, and one of an earlier version, take nothing from the rest", async () => {
  await world.createSandbox();
  world.host.metrics.denials = undefined;
  expect(await measure()).toMatchObject({ examined: 1, failed: 0 });
  world.host.metrics.denials = { items: [{ id: "sbx_1", minute: -1, packets: 1 }] };
  expect(await measure()).toMatchObject({ examined: 1, failed: 1 });
  world.host.metrics.denials = { items: [] };
  expect((await usage()).status).toBe(200);
});

test("minutes that become ten keep what was refused in them", async () => {
  const old = Math.floor(minutesAgo(3 * DAY) / 10) * 10;
  for (let minute = 0; minute < 10; minute += 1) await had(old + minute);
  await sql`
    insert into usage_samples (org_id, minute, denied)
    values (${world.orgId}, ${old + 1}, 3), (${world.orgId}, ${old + 9}, ${2 ** 33})`.execute(world.db);
  await sweep();
  await sweep();
  const since = new Date((old - 10) * MINUTE_MS).toISOString();
  expect((await usage(`?step=10m&since=${since}`)).body.items[0]?.denied).toBe(3 + 2 ** 33);
});
