import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import { heartbeat } from "../src/hosts/heartbeat.ts";
import { endMachine } from "../src/machines/end-machine.ts";
import { machineFacts } from "../src/machines/machine-facts.ts";
import { never, TwoHosts } from "./support/two-hosts.ts";
import { eventually, waitingForLocks } from "./support/world.ts";

let two: TwoHosts;
beforeEach(async () => {
  two = await TwoHosts.open();
});
afterEach(() => two[Symbol.asyncDispose]());

async function machineOn(hostName: string, values: Record<string, string> = {}): Promise<string> {
  const id = `mch_${Math.random().toString(36).slice(2)}`;
  const all = {
    id: `'${id}'`,
    org_id: `'${two.world.orgId}'`,
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
    restart_disk: "'disposable'",
    started_at: "now()",
    ...values,
  };
  await sql
    .raw(`insert into machines (${Object.keys(all).join(", ")}) values (${Object.values(all).join(", ")})`)
    .execute(two.world.db);
  return id;
}

async function machine(id: string) {
  return two.world.db.selectFrom("machines").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
}

async function queued(): Promise<string[]> {
  const rows = await two.world.db.selectFrom("restarts").select("machine_id").execute();
  return rows.map((row) => row.machine_id);
}

test("a host that was silent for 30 s is offline, and its sandboxes are unreachable and say why", async () => {
  const lost = await two.sandboxOn(two.second);
  const kept = await two.sandboxOn(two.first);
  await two.second.stop();
  await two.pass(10);
  await two.ask();
  await two.pass(10);
  await two.ask();
  expect(await two.judge()).toMatchObject({ changed: 0 });
  await two.pass(11);
  await two.ask();
  expect(await two.judge()).toMatchObject({ changed: 2 });
  expect([(await two.host("fake")).status, (await two.host("second")).status]).toEqual(["online", "offline"]);
  expect(await two.sandbox(lost)).toMatchObject({
    status: "unreachable",
    reason: "host_offline: its host second is offline",
  });
  expect((await two.sandbox(kept)).status).toBe("running");
  expect(await two.judge()).toMatchObject({ changed: 0 });
});

test("a machine that is started elsewhere because its host was lost has that in its history, one that waits has not", async () => {
  const [elsewhere, waits] = [
    await machineOn("second"),
    await machineOn("second", { restart_disk: "'keep'" }),
  ];
  await two.second.stop();
  for (const seconds of [10, 10, 11]) {
    await two.pass(seconds);
    await two.ask();
  }
  await two.judge();
  const { rows } = await sql`select machine_id, cause, reason, restarted_at from machine_ends`.execute(
    two.world.db,
  );
  expect(rows).toEqual([
    {
      ...{ machine_id: elsewhere, cause: "host_lost", restarted_at: null },
      reason: "host_offline: its host second is offline",
    },
  ]);
  expect((await machine(waits)).status).toBe("failed");
});

test("the monitor is rung when a host has been silent for too long, and not before", async () => {
  await two.second.stop();
  await two.pass(20);
  await two.ask();
  expect(two.world.rung).not.toContain("host-health-monitor");
  await two.pass(10);
  await two.ask();
  expect(two.world.rung).toContain("host-health-monitor");
});

test("what the monitor did is in the audit log, of the host in the operator's", async () => {
  await two.sandboxOn(two.second);
  await two.second.stop();
  await two.silence();
  await two.judge();
  const { body } = await two.world.call<{ items: { action: string }[] }>("GET", "/v1/audit?limit=10");
  const actions = body.items.map(({ action }) => action);
  expect(actions).toContain("host.offline");
  expect(actions).toContain("sandbox.fail");
});

test("machines of a dead host whose disk does not matter are queued by their policy, and all others say why they are not", async () => {
  const again = await machineOn("second", { retries: "2" });
  const always = await machineOn("second", { restart_policy: "'always'", restart_max_retries: "null" });
  const never = await machineOn("second", { restart_policy: "'no'" });
  const tired = await machineOn("second", { retries: "10" });
  const rested = await machineOn("second", { retries: "10", started_at: "now() - interval '11 minutes'" });
  const stopping = await machineOn("second", { status: "'stopping'", desired: "'stopped'" });
  const stopped = await machineOn("second", { status: "'stopped'", desired: "'stopped'" });
  const keeps = await machineOn("second", { restart_disk: "'keep'", restart_policy: "'always'" });
  await two.second.stop();
  await two.silence();
  two.world.rung.length = 0;
  expect(await two.judge()).toMatchObject({ changed: 8 });
  expect((await queued()).toSorted()).toEqual([again, always, rested].toSorted());
  expect(two.world.rung).toEqual(["restart-manager"]);
  expect(await machine(again)).toMatchObject({ status: "failed", host_lost: true, retries: 3 });
  expect(await machine(never)).toMatchObject({
    status: "failed",
    reason: "host_offline: its host second is offline",
  });
  expect(await machine(keeps)).toMatchObject({
    ...{ status: "failed", host_lost: true, retries: 0 },
    reason: "host_offline: its host second is offline; it waits for the host, which has its disk",
  });
  expect((await machine(tired)).reason).toContain("it is not started again: it was started 10 times");
  expect(await machine(rested)).toMatchObject({ retries: 1 });
  expect(await machine(stopping)).toMatchObject({ status: "failed", host_lost: true });
  expect(await machine(stopped)).toMatchObject({ status: "stopped", host_lost: false });
  const { rows } = await sql<{ ms: number }>`
    select extract(epoch from due_at - stopped_at)::float8 * 1000 as ms
    from restarts join machines on id = machine_id where id = ${again}`.execute(two.world.db);
  // The third try: 4 s, of which half is chance.
  expect(rows[0]?.ms).toBeGreaterThanOrEqual(2_000);
  expect(rows[0]?.ms).toBeLessThanOrEqual(4_000);
});

test("a machine that ends while its host is marked offline keeps nobody from either, and is queued once", async () => {
  const id = await machineOn("second");
  await two.second.stop();
  await two.silence();
  const { db } = two.world;
  // The monitor stops here when it has the machine and not yet its entry in the queue.
  await sql`create function stop_here() returns trigger language plpgsql
            as 'begin perform pg_advisory_xact_lock(1); return new; end'`.execute(db);
  await sql`create trigger stop_here before update on vms for each row execute function stop_here()`.execute(
    db,
  );
  const [seen] = await machineFacts(db, [id]);
  if (seen === undefined) throw new Error("no machine");
  const ending = { reason: "it ended", cause: "unknown", exitCode: null, succeeded: false } as const;
  const both = await db.transaction().execute(async (transaction) => {
    await sql`select pg_advisory_xact_lock(1)`.execute(transaction);
    const judged = two.judge();
    await eventually(async () => (await waitingForLocks(db)) === 1, "the monitor waits");
    const ended = endMachine(two.world.context, seen, ending);
    await eventually(async () => (await waitingForLocks(db)) === 2, "whoever ends the machine waits");
    return () => Promise.all([judged, ended]);
  });
  const [{ changed }, ended] = await both();
  expect([changed, ended]).toEqual([2, false]);
  expect(await queued()).toEqual([id]);
  expect(await machine(id)).toMatchObject({ status: "failed", host_lost: true, retries: 1 });
});

test("where nobody asked the hosts, because control was away, none is dead", async () => {
  const { id } = await two.world.createSandbox();
  await two.pass(600);
  expect(await two.judge()).toMatchObject({ changed: 0 });
  await two.first.stop();
  await two.second.stop();
  await two.ask();
  expect(await two.judge()).toMatchObject({ changed: 0 });
  await two.pass(60);
  await two.ask();
  expect(await two.judge()).toMatchObject({ changed: 0 });
  expect((await two.sandbox(id)).status).toBe("running");
});

test("a control plane that has just started blames nobody", async () => {
  await two.second.stop();
  const starting = heartbeat(two.world.context, {
    hostSocket: two.first.socketPath,
    everyMs: 1,
    graceMs: 60_000,
  });
  for (let round = 0; round < 4; round += 1) {
    await two.pass(10);
    await starting.activate(never);
  }
  expect(await two.judge()).toMatchObject({ changed: 0 });
});

test("a creation that its control plane did not survive is failed also where its host is offline", async () => {
  const { id } = await two.world.createSandbox();
  await sql`update hosts set status = 'offline'`.execute(two.world.db);
  await sql`update sandboxes set status = 'creating', claimed_until = now() + interval '1 minute'`.execute(
    two.world.db,
  );
  await two.judge();
  expect((await two.sandbox(id)).status).toBe("creating");
  await sql`update sandboxes set claimed_until = now() - interval '1 ms'`.execute(two.world.db);
  await two.judge();
  expect(await two.sandbox(id)).toMatchObject({ status: "failed" });
});

test("in maintenance a host may be off", async () => {
  await sql`update hosts set status = 'maintenance', desired = 'drained' where name = 'second'`.execute(
    two.world.db,
  );
  await two.second.stop();
  await two.silence();
  await two.judge();
  expect((await two.host("second")).status).toBe("maintenance");
});

test("a host that says what cannot be stored is silent, and silences nobody else", async () => {
  two.second.memoryMib = 2 ** 40;
  await two.silence();
  expect(await two.judge()).toMatchObject({ changed: 0 });
  const ages = await sql<{ name: string; age: number }>`
    select name, extract(epoch from now() - last_heartbeat)::integer as age from hosts order by name`.execute(
    two.world.db,
  );
  expect(ages.rows.map(({ name, age }) => [name, age > 20])).toEqual([
    ["fake", false],
    ["second", true],
  ]);
});

test("who answers in the place of another host, or calls itself like one, changes nothing of that host", async () => {
  two.second.name = "fake";
  const before = await two.host("fake");
  await two.silence();
  await two.judge();
  expect(await two.host("fake")).toEqual(before);
  expect((await two.host("second")).status).toBe("offline");
});
