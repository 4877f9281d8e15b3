// Machines that end, and what brings them back: VM cleanup, the queue and the restart manager, on fake hosts.

import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SkerryError } from "@skerry/contract/errors";
import type { Vm } from "@skerry/contract/host-api/vm";
import type { Machine } from "@skerry/contract/machines/machine";
import { startMachine } from "../src/machines/start-machine.ts";
import { machineById } from "../src/machines/machine-store.ts";
import { MachineUpkeep } from "./support/machine-upkeep.ts";
import { eventually, World } from "./support/world.ts";

let world: World;
let upkeep: MachineUpkeep;
beforeEach(async () => {
  world = await World.open();
  upkeep = new MachineUpkeep(world);
});
afterEach(() => world[Symbol.asyncDispose]());

async function queued(): Promise<number> {
  const { rows } = await sql<{ n: number }>`select count(*)::integer as n from restarts`.execute(world.db);
  return rows[0]?.n ?? 0;
}

const exit = (exit_code: number): Pick<Vm, "cause" | "exit"> => ({
  cause: "main_exited",
  exit: { exit_code, signal: 0, oom_killed: false },
});

async function endAndRestart(id: string, how: Pick<Vm, "cause" | "exit">): Promise<void> {
  world.host.end(id, null, how);
  await upkeep.cleanUp();
  await upkeep.allDue();
  await upkeep.startWaiting();
}

test("a machine whose QEMU is killed is started again from its disk, after a pause, and counted", async () => {
  const { id } = await world.createMachine();
  const first = world.host.vms.get(id)?.execution_id;
  world.host.end(id, "killed by signal 9", { cause: "qemu_ended" });
  await upkeep.cleanUp();
  const failed = await upkeep.get(id);
  expect(failed).toMatchObject({ status: "failed", reason: "killed by signal 9", restarts: 0 });
  expect(Date.parse(failed.restart_at ?? "")).toBeGreaterThan(Date.parse(failed.stopped_at ?? ""));
  await upkeep.due("1 min");
  expect(await upkeep.startWaiting()).toMatchObject({ examined: 0 });
  await upkeep.allDue();
  expect(await upkeep.startWaiting()).toMatchObject({ examined: 1, changed: 1, failed: 0 });
  expect(await upkeep.get(id)).toMatchObject({
    status: "running",
    restarts: 1,
    reason: null,
    restart_at: null,
  });
  expect(world.host.disks.get(id)).toBe(first);
  expect(world.host.vms.get(id)?.execution_id).not.toBe(first);
});

test("a machine whose main process has done its work is stopped, by `always` it is started again", async () => {
  const once = await world.createMachine();
  const always = await world.createMachine({ restart: { policy: "always" } });
  for (const { id } of [once, always]) world.host.end(id, null, exit(0));
  await upkeep.cleanUp();
  const reason = "the main process exited with 0";
  expect(await upkeep.get(once.id)).toMatchObject({
    status: "stopped",
    reason,
    exit_code: 0,
    restart_at: null,
  });
  expect(await upkeep.get(always.id)).toMatchObject({ status: "stopped", reason, exit_code: 0 });
  await upkeep.allDue();
  await upkeep.startWaiting();
  expect([(await upkeep.get(once.id)).status, (await upkeep.get(always.id)).status]).toEqual([
    "stopped",
    "running",
  ]);
});

test("a machine without a policy stays failed with the code of its main process", async () => {
  const { id } = await world.createMachine({ restart: { policy: "no" } });
  await endAndRestart(id, exit(3));
  expect(await upkeep.get(id)).toMatchObject({
    status: "failed",
    exit_code: 3,
    reason: "the main process exited with 3",
    restart_at: null,
  });
});

test("a machine that fails again and again is given up, and ten healthy minutes begin anew", async () => {
  const { id } = await world.createMachine({ restart: { max_retries: 2 } });
  await endAndRestart(id, exit(1));
  await endAndRestart(id, exit(1));
  expect(await upkeep.get(id)).toMatchObject({ status: "running", restarts: 2 });
  await upkeep.set(id, "started_at = now() - interval '11 min'");
  await endAndRestart(id, exit(1));
  await endAndRestart(id, exit(1));
  expect(await upkeep.get(id)).toMatchObject({ status: "running", restarts: 4 });
  await endAndRestart(id, exit(1));
  expect(await upkeep.get(id)).toMatchObject({
    status: "failed",
    restarts: 4,
    reason:
      "the main process exited with 1; it is not started again: it was started 2 times without running for 10m",
  });
  expect((await world.call<Machine>("POST", `/v1/machines/${id}/start`)).body.status).toBe("running");
  await endAndRestart(id, exit(1));
  expect((await upkeep.get(id)).status).toBe("running");
});

test("a stop takes a machine out of the queue, and so does its destruction", async () => {
  const stopped = await world.createMachine();
  const destroyed = await world.createMachine();
  for (const { id } of [stopped, destroyed]) world.host.end(id, "it ended");
  await upkeep.cleanUp();
  expect(await queued()).toBe(2);
  const answer = await world.call("POST", `/v1/machines/${stopped.id}/stop`);
  expect(answer.body).toMatchObject({ status: "stopped", restart_at: null });
  await world.call("DELETE", `/v1/machines/${destroyed.id}`);
  expect(await queued()).toBe(0);
  await upkeep.startWaiting();
  expect([(await upkeep.get(stopped.id)).status, (await upkeep.get(destroyed.id)).status]).toEqual([
    "stopped",
    "destroyed",
  ]);
});

test("a restart for which there is no room waits, says for what, and uses up no retry", async () => {
  const { id } = await world.createMachine({ size: "shared-cpu-2x", restart: { max_retries: 1 } });
  world.host.end(id, "it ended");
  await upkeep.cleanUp();
  world.host.memoryMib = 512;
  await world.beat();
  const other = await world.createMachine();
  for (let tries = 0; tries < 3; tries += 1) {
    await upkeep.allDue();
    expect(await upkeep.startWaiting()).toMatchObject({ examined: 1, changed: 0, failed: 0 });
  }
  const waiting = await upkeep.get(id);
  expect(waiting).toMatchObject({
    status: "failed",
    reason:
      'it ended; its next start waits: There is no room for the size "shared-cpu-2x" now. The host that has its disk lacks memory.',
  });
  expect(waiting.restart_at).not.toBeNull();
  await world.call("DELETE", `/v1/machines/${other.id}`);
  await upkeep.allDue();
  await upkeep.startWaiting();
  expect(await upkeep.get(id)).toMatchObject({ status: "running", reason: null, restarts: 1 });
});

test("a restart that its host fails is tried again until the retries are used up", async () => {
  const { id } = await world.createMachine({ restart: { max_retries: 2 } });
  world.host.failures.set("start", new SkerryError("guest_timeout", "The guest did not answer."));
  await endAndRestart(id, exit(1));
  expect(await upkeep.get(id)).toMatchObject({
    status: "failed",
    reason: "could not start: The guest did not answer.",
  });
  await upkeep.allDue();
  await upkeep.startWaiting();
  expect(await upkeep.get(id)).toMatchObject({
    status: "failed",
    restart_at: null,
    reason:
      "could not start: The guest did not answer.; it is not started again: it was started 2 times without running for 10m",
  });
});

test("two hundred machines that come back together leave room for a new one", async () => {
  world.host.memoryMib = 1_000_000;
  await world.beat();
  const { id } = await world.createMachine();
  await sql`
    insert into machines (id, org_id, template, size, vcpus, memory_mib, disk_gib, status, execution_id, host_id, env,
                          metadata, egress, stop_timeout_ms, restart_policy, started_at)
    select 'mch_' || n, org_id, template, size, 0, 0, 0, 'failed', 'exe_' || n, host_id, env,
           metadata, egress, stop_timeout_ms, 'always', now()
    from machines, generate_series(1, 200) n where id = ${id}`.execute(world.db);
  for (let n = 1; n <= 200; n += 1) world.host.disks.set(`mch_${n}`, `exe_${n}`);
  await sql`insert into restarts (machine_id, due_at) select id, now() from machines where id <> ${id}`.execute(
    world.db,
  );
  const held: (() => void)[] = [];
  world.host.beforeStart = async (vm) => {
    if (vm.length < 10) await new Promise<void>((resolve) => held.push(resolve));
  };
  const storm = upkeep.startWaiting();
  await eventually(() => held.length > 0, "the storm has begun");
  const created = await world.createMachine();
  expect(created.status).toBe("running");
  expect(held.length).toBeLessThanOrEqual(4);
  expect(await queued()).toBeGreaterThanOrEqual(196);
  world.host.beforeStart = async () => undefined;
  const release = setInterval(() => held.splice(0).forEach((go) => go()), 5);
  const first = await storm;
  clearInterval(release);
  expect(first).toMatchObject({ examined: 64, changed: 64, failed: 0, more: true });
  for (let more = true; more;) ({ more } = await upkeep.startWaiting());
  expect(await queued()).toBe(0);
  const { rows } = await sql<{ n: number }>`
    select count(*)::integer as n from machines where status = 'running' and restarts = 1`.execute(world.db);
  expect(rows[0]?.n).toBe(200);
});

test("two replicas start a machine once", async () => {
  const { id } = await world.createMachine();
  world.host.end(id, "it ended");
  await upkeep.cleanUp();
  await upkeep.allDue();
  const before = world.host.calls.length;
  const reports = await Promise.all([upkeep.startWaiting(), upkeep.startWaiting(), upkeep.startWaiting()]);
  expect(reports.reduce((sum, { changed }) => sum + changed, 0)).toBe(1);
  expect(world.host.calls.slice(before).filter((call) => call.startsWith("PUT"))).toHaveLength(1);
});

test("a start from the queue comes to nothing where a stop has taken the machine out of it meanwhile", async () => {
  const { id } = await world.createMachine({ restart: { policy: "always" } });
  world.host.end(id, null, exit(0));
  await upkeep.cleanUp();
  const seen = await machineById(world.db, id);
  if (seen === undefined) throw new Error("no machine");
  await world.call("POST", `/v1/machines/${id}/stop`);
  expect(await startMachine(world.context, seen, {})).toBeUndefined();
  expect(await upkeep.get(id)).toMatchObject({ status: "stopped", desired: "stopped" });
});

test("the manager sleeps until the first one is due", async () => {
  expect(await upkeep.startWaiting()).not.toHaveProperty("nextMs");
  const { id } = await world.createMachine();
  world.host.end(id, "it ended");
  await upkeep.cleanUp();
  await upkeep.due("1 min");
  const { nextMs = 0 } = await upkeep.startWaiting();
  expect([nextMs > 0, nextMs <= 60_000]).toEqual([true, true]);
});
