// What becomes of machines when control or a host dies in the middle, on fake hosts.

import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Machine } from "@skerry/contract/machines";
import { heartbeat } from "../src/background/heartbeat.ts";
import { restartManager } from "../src/background/restart-manager.ts";
import type { Report } from "../src/background/service.ts";
import { vmCleanup } from "../src/background/vm-cleanup.ts";
import { FakeHost } from "./fake-host.ts";
import { refused } from "./members.ts";
import { World } from "./world.ts";

let world: World;
beforeEach(async () => {
  world = await World.open();
});
afterEach(() => world[Symbol.asyncDispose]());

const never = new AbortController().signal;

function cleanUp(): Promise<Report> {
  return vmCleanup(world.context, 1_000).activate(never);
}

function startWaiting(): Promise<Report> {
  return restartManager(world.context).activate(never);
}

async function get(id: string): Promise<Machine> {
  return (await world.call<Machine>("GET", `/v1/machines/${id}`)).body;
}

function set(id: string, values: string): Promise<unknown> {
  return sql`update machines set ${sql.raw(values)} where id = ${id}`.execute(world.db);
}

/** The time of every machine in the queue has come. */
function allDue(): Promise<unknown> {
  return sql`update restarts set due_at = now()`.execute(world.db);
}

const dead = "claimed_until = now() - interval '1 ms'";

test("whatever control was at when it died, the next one finishes", async () => {
  const creating = await world.createMachine();
  const starting = await world.createMachine();
  const started = await world.createMachine();
  const stopping = await world.createMachine();
  const between = await world.createMachine();
  await set(creating.id, `status = 'creating', started_at = null, ${dead}`);
  await set(started.id, `status = 'starting', ${dead}`);
  world.host.end(starting.id, "the host has not begun");
  await set(starting.id, `status = 'starting', execution_id = 'exe_new', ${dead}`);
  await set(stopping.id, `status = 'stopping', desired = 'stopped', ${dead}`);
  await world.call("POST", `/v1/machines/${between.id}/stop`);
  await set(between.id, "desired = 'running', restart_wished = true");
  await cleanUp();
  expect(await get(creating.id)).toMatchObject({
    status: "failed",
    reason: "the control plane stopped while it was creating the machine",
    restart_at: null,
  });
  expect(await get(started.id)).toMatchObject({ status: "running", reason: null });
  expect(await get(starting.id)).toMatchObject({
    status: "failed",
    reason: "the control plane stopped while it was starting the machine",
  });
  expect(await get(stopping.id)).toMatchObject({ status: "stopped", reason: "stopped by request" });
  await allDue();
  await startWaiting();
  expect(await get(starting.id)).toMatchObject({ status: "running", restarts: 1 });
  expect(await get(between.id)).toMatchObject({ status: "running", restarts: 0 });
  expect([...world.host.vms.keys()].toSorted()).toEqual(
    [started, starting, stopping, between].map(({ id }) => id).toSorted(),
  );
});

test("a start that was taken for dead does not come to life twice", async () => {
  const { id } = await world.createMachine();
  await world.call("POST", `/v1/machines/${id}/stop`);
  world.host.beforeStart = async () => {
    world.host.beforeStart = async () => undefined;
    await set(id, dead);
    await cleanUp();
  };
  const answer = await world.call("POST", `/v1/machines/${id}/start`);
  expect(refused(answer)).toEqual([429, "machine_busy"]);
  await cleanUp();
  expect(world.host.vms.get(id)?.status).toBe("stopped");
  await allDue();
  await startWaiting();
  expect((await get(id)).status).toBe("running");
});

test("a machine whose host was taken for dead goes on with its life when it comes back, and is not started again", async () => {
  const { id, started_at } = await world.createMachine();
  await set(id, "status = 'failed', host_lost = true, reason = 'its host went offline'");
  await sql`insert into restarts (machine_id, due_at) values (${id}, now() + interval '1 h')`.execute(
    world.db,
  );
  const calls = world.host.calls.length;
  await cleanUp();
  expect(await get(id)).toMatchObject({
    status: "running",
    started_at,
    reason: "its host came back with it",
    restart_at: null,
  });
  expect(world.host.calls.slice(calls)).toEqual(["GET /vms"]);
});

test("a machine of a lost host is placed on another one with a new disk, and what comes back of it is removed", async () => {
  await using second = new FakeHost();
  second.name = "second";
  await second.start();
  const { id, host_id } = await world.createMachine();
  await heartbeat(world.context, { hostSocket: second.socketPath, everyMs: 1_000, graceMs: 0 }).activate(
    never,
  );
  await sql`update hosts set status = 'offline' where name = 'fake'`.execute(world.db);
  await set(id, "status = 'failed', host_lost = true, reason = 'its host went offline'");
  await sql`insert into restarts (machine_id, due_at) values (${id}, now())`.execute(world.db);
  await startWaiting();
  const moved = await get(id);
  expect(moved).toMatchObject({
    status: "running",
    restarts: 1,
    reason: "its host went offline, so it was placed on another one, with a new disk",
  });
  expect(moved.host_id).not.toBe(host_id);
  expect([second.vms.has(id), world.host.vms.has(id)]).toEqual([true, true]);
  await world.beat();
  await cleanUp();
  expect([second.vms.has(id), world.host.vms.has(id), world.host.disks.has(id)]).toEqual([
    true,
    false,
    false,
  ]);
  expect((await get(id)).status).toBe("running");
});

test("a destruction that the host did not confirm is finished, and its disk of an earlier life goes too", async () => {
  const { id } = await world.createMachine();
  world.host.end(id, "it ended");
  await set(id, "status = 'starting', execution_id = 'exe_new'");
  await world.call("DELETE", `/v1/machines/${id}`);
  await cleanUp();
  expect([(await get(id)).status, world.host.disks.has(id)]).toEqual(["destroyed", false]);
});
