import { sql } from "kysely";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { HostStatus, HostWish } from "@skerry/contract/host-states";
import type { Sandbox } from "@skerry/contract/sandboxes";
import { heartbeat } from "../src/background/heartbeat.ts";
import { hostHealthMonitor } from "../src/background/host-health.ts";
import { vmCleanup } from "../src/background/vm-cleanup.ts";
import { FakeHost } from "./fake-host.ts";
import { World } from "./world.ts";

let world: World;
let second: FakeHost;
beforeEach(async () => {
  world = await World.open();
  second = new FakeHost();
  second.name = "second";
  await second.start();
  await ask(second.socketPath);
});
afterEach(async () => {
  vi.useRealTimers();
  await second[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

const never = new AbortController().signal;

/** One round over all hosts. */
function ask(hostSocket = world.host.socketPath) {
  return heartbeat(world.context, { hostSocket, everyMs: 1_000, graceMs: 0 }).activate(never);
}

function judge() {
  return hostHealthMonitor(world.context, 1_000).activate(never);
}

function cleanUp() {
  return vmCleanup(world.context, 1_000).activate(never);
}

interface Host {
  readonly name: string;
  readonly status: HostStatus;
  readonly desired: HostWish;
  readonly cpus: number;
}

async function host(name: string): Promise<Host> {
  const row = await world.db
    .selectFrom("hosts")
    .select(["name", "status", "desired", "cpus"])
    .where("name", "=", name)
    .executeTakeFirst();
  if (row === undefined) throw new Error(`there is no host ${name}`);
  return row;
}

async function sandbox(id: string): Promise<Sandbox> {
  return (await world.call<Sandbox>("GET", `/v1/sandboxes/${id}`)).body;
}

/** As if all that is known of the hosts, and of leases, were so much older. */
async function pass(seconds: number): Promise<void> {
  const back = sql.raw(`- interval '${seconds} s'`);
  await sql`
    update hosts set last_heartbeat = last_heartbeat ${back}, silent_since = silent_since ${back},
                     silent_until = silent_until ${back}`.execute(world.db);
}

/** Hosts that do not answer are asked for 30 s, as the heartbeat does it. */
async function silence(): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    await pass(10);
    await ask();
  }
  await pass(1);
}

async function sandboxOn(fake: FakeHost): Promise<string> {
  for (let tries = 0; tries < 20; tries += 1) {
    const { id } = await world.createSandbox();
    if (fake.vms.has(id)) return id;
  }
  throw new Error("no sandbox was placed there");
}

async function machineOn(hostName: string, values: Record<string, string> = {}): Promise<string> {
  const id = `mch_${Math.random().toString(36).slice(2)}`;
  const all = {
    id: `'${id}'`,
    org_id: `'${world.orgId}'`,
    template: "'base'",
    size: "'shared-cpu-1x'",
    vcpus: "1",
    memory_mib: "256",
    disk_gib: "1",
    status: "'running'",
    execution_id: "'exe_1'",
    host_id: `(select id from hosts where name = '${hostName}')`,
    env: "'{}'",
    metadata: "'{}'",
    egress: "'{}'",
    stop_timeout_ms: "10000",
    restart_policy: "'on-failure'",
    restart_max_retries: "10",
    started_at: "now()",
    ...values,
  };
  await sql
    .raw(`insert into machines (${Object.keys(all).join(", ")}) values (${Object.values(all).join(", ")})`)
    .execute(world.db);
  return id;
}

async function machine(id: string) {
  return world.db.selectFrom("machines").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
}

async function queued(): Promise<string[]> {
  const rows = await world.db.selectFrom("restarts").select("machine_id").execute();
  return rows.map((row) => row.machine_id);
}

test("a host that was silent for 30 s is offline, and what ran on it has failed and says why", async () => {
  const lost = await sandboxOn(second);
  const kept = await sandboxOn(world.host);
  await second.stop();
  await pass(10);
  await ask();
  await pass(10);
  await ask();
  expect(await judge()).toMatchObject({ changed: 0 });
  await pass(11);
  await ask();
  expect(await judge()).toMatchObject({ changed: 2 });
  expect([(await host("fake")).status, (await host("second")).status]).toEqual(["online", "offline"]);
  expect(await sandbox(lost)).toMatchObject({ status: "failed", reason: "its host second is offline" });
  expect((await sandbox(kept)).status).toBe("running");
  expect(await judge()).toMatchObject({ changed: 0 });
});

test("what the monitor did is in the audit log, of the host in the operator's", async () => {
  await sandboxOn(second);
  await second.stop();
  await silence();
  await judge();
  const { body } = await world.call<{ items: { action: string }[] }>("GET", "/v1/audit?limit=10");
  const actions = body.items.map(({ action }) => action);
  expect(actions).toContain("host.offline");
  expect(actions).toContain("sandbox.fail");
});

test("machines of a dead host are queued by their policy, and who has no tries left says so", async () => {
  const again = await machineOn("second", { retries: "2" });
  const always = await machineOn("second", { restart_policy: "'always'", restart_max_retries: "null" });
  const never = await machineOn("second", { restart_policy: "'no'" });
  const tired = await machineOn("second", { retries: "10" });
  const rested = await machineOn("second", { retries: "10", started_at: "now() - interval '11 minutes'" });
  const stopping = await machineOn("second", { status: "'stopping'", desired: "'stopped'" });
  const stopped = await machineOn("second", { status: "'stopped'", desired: "'stopped'" });
  await second.stop();
  await silence();
  world.rung.length = 0;
  expect(await judge()).toMatchObject({ changed: 7 });
  expect((await queued()).toSorted()).toEqual([again, always, rested].toSorted());
  expect(world.rung).toEqual(["restart-manager"]);
  expect(await machine(again)).toMatchObject({ status: "failed", host_lost: true, retries: 3 });
  expect(await machine(never)).toMatchObject({ status: "failed", reason: "its host second is offline" });
  expect((await machine(tired)).reason).toContain("`max_retries` are used up");
  expect(await machine(rested)).toMatchObject({ retries: 1 });
  expect(await machine(stopping)).toMatchObject({ status: "failed", host_lost: true });
  expect(await machine(stopped)).toMatchObject({ status: "stopped", host_lost: false });
  const { rows } = await sql<{ ms: number }>`
    select extract(epoch from due_at - now())::float8 * 1000 as ms from restarts where machine_id = ${again}`.execute(
    world.db,
  );
  // The third try: 4 s, of which half is chance.
  expect(rows[0]?.ms).toBeGreaterThan(1_000);
  expect(rows[0]?.ms).toBeLessThanOrEqual(4_000);
});

test("where nobody asked the hosts, because control was away, none is dead", async () => {
  const { id } = await world.createSandbox();
  await pass(600);
  expect(await judge()).toMatchObject({ changed: 0 });
  await world.host.stop();
  await second.stop();
  await ask();
  expect(await judge()).toMatchObject({ changed: 0 });
  await pass(60);
  await ask();
  expect(await judge()).toMatchObject({ changed: 0 });
  expect((await sandbox(id)).status).toBe("running");
});

test("a control plane that has just started blames nobody", async () => {
  await second.stop();
  const starting = heartbeat(world.context, {
    hostSocket: world.host.socketPath,
    everyMs: 1,
    graceMs: 60_000,
  });
  for (let round = 0; round < 4; round += 1) {
    await pass(10);
    await starting.activate(never);
  }
  expect(await judge()).toMatchObject({ changed: 0 });
});

test("a host that comes back has its sandboxes back, once each and under the same life", async () => {
  const id = await sandboxOn(second);
  const executionId = second.vms.get(id)?.execution_id;
  await second.stop();
  await silence();
  await judge();
  await second.start();
  world.rung.length = 0;
  await ask();
  expect(world.rung).toContain("vm-cleanup");
  expect((await host("second")).status).toBe("online");
  await cleanUp();
  expect(await sandbox(id)).toMatchObject({ status: "running", reason: null });
  expect(second.vms.get(id)?.execution_id).toBe(executionId);
  expect(
    (await world.call("POST", `/v1/sandboxes/${id}/execute`, { body: { command: "true" } })).status,
  ).toBe(200);
});

test("what was given up meanwhile does not come back: expired, destroyed, failed by itself, or of another life", async () => {
  const expired = await sandboxOn(second);
  const destroyed = await sandboxOn(second);
  const broken = await sandboxOn(second);
  const stale = await sandboxOn(second);
  await sql`update sandboxes set status = 'failed', reason = 'broke' where id = ${broken}`.execute(world.db);
  await second.stop();
  await silence();
  await judge();
  await sql`update sandboxes set expires_at = now() where id = ${expired}`.execute(world.db);
  await world.call("DELETE", `/v1/sandboxes/${destroyed}`);
  await sql`update sandboxes set execution_id = 'exe_other' where id = ${stale}`.execute(world.db);
  await second.start();
  await ask();
  await cleanUp();
  for (const id of [expired, destroyed, broken, stale]) expect(second.vms.has(id)).toBe(false);
  const statuses = await Promise.all(
    [expired, destroyed, broken, stale].map(async (id) => (await sandbox(id)).status),
  );
  expect(statuses).toEqual(["failed", "destroyed", "failed", "failed"]);
});

test("a creation that its control plane did not survive is failed also where its host is offline", async () => {
  const { id } = await world.createSandbox();
  await sql`update hosts set status = 'offline'`.execute(world.db);
  await sql`update sandboxes set status = 'creating', claimed_until = now() + interval '1 minute'`.execute(
    world.db,
  );
  await judge();
  expect((await sandbox(id)).status).toBe("creating");
  await sql`update sandboxes set claimed_until = now() - interval '1 ms'`.execute(world.db);
  await judge();
  expect(await sandbox(id)).toMatchObject({ status: "failed" });
});

test("a drain goes on when its host comes back", async () => {
  await sql`update hosts set status = 'draining', desired = 'drained' where name = 'second'`.execute(
    world.db,
  );
  await second.stop();
  await silence();
  await judge();
  expect((await host("second")).status).toBe("offline");
  await second.start();
  await ask();
  expect((await host("second")).status).toBe("draining");
});

test("in maintenance a host may be off", async () => {
  await sql`update hosts set status = 'maintenance', desired = 'drained' where name = 'second'`.execute(
    world.db,
  );
  await second.stop();
  await silence();
  await judge();
  expect((await host("second")).status).toBe("maintenance");
});

test("a host that says what cannot be stored is silent, and silences nobody else", async () => {
  second.memoryMib = 2 ** 40;
  await silence();
  expect(await judge()).toMatchObject({ changed: 0 });
  const ages = await sql<{ name: string; age: number }>`
    select name, extract(epoch from now() - last_heartbeat)::integer as age from hosts order by name`.execute(
    world.db,
  );
  expect(ages.rows.map(({ name, age }) => [name, age > 20])).toEqual([
    ["fake", false],
    ["second", true],
  ]);
});

test("who answers in the place of another host, or calls itself like one, changes nothing of that host", async () => {
  second.name = "fake";
  const before = await host("fake");
  await silence();
  await judge();
  expect(await host("fake")).toEqual(before);
  expect((await host("second")).status).toBe("offline");
});

test("clocks that are 5 minutes off, a host's and this process', change nothing", async () => {
  const id = await sandboxOn(second);
  for (const skewMs of [300_000, -300_000]) {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + skewMs });
    const vm = second.vms.get(id);
    if (vm === undefined) throw new Error("no VM");
    second.vms.set(id, { ...vm, started_at: new Date().toISOString() });
    await pass(10);
    await ask();
    expect(await judge()).toMatchObject({ changed: 0 });
    await cleanUp();
    vi.useRealTimers();
    expect((await host("second")).status).toBe("online");
    expect((await sandbox(id)).status).toBe("running");
  }
});

test("a VM that ended by itself is looked at when the heartbeat tells of it", async () => {
  await ask();
  world.rung.length = 0;
  await ask();
  expect(world.rung).toEqual([]);
  second.ended += 1;
  await ask();
  expect(world.rung).toEqual(["vm-cleanup"]);
});

test("VM cleanup comes by again when a claim lapses or an attempt is due, not only after its period", async () => {
  const claimed = await world.createSandbox();
  const stuck = await world.createSandbox();
  expect((await cleanUp()).nextMs).toBe(Infinity);
  await sql`update sandboxes set status = 'creating', claimed_until = now() + interval '9 s' where id = ${claimed.id}`.execute(
    world.db,
  );
  expect((await cleanUp()).nextMs).toBeGreaterThan(5_000);
  await sql`update sandboxes set status = 'destroying', retry_at = now() + interval '4 s' where id = ${stuck.id}`.execute(
    world.db,
  );
  const { nextMs } = await cleanUp();
  expect(nextMs).toBeGreaterThan(1_000);
  expect(nextMs).toBeLessThanOrEqual(4_000);
});
