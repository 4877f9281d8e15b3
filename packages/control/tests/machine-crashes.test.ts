// What becomes of machines when control or a host dies in the middle, on fake hosts.

import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import { heartbeat } from "../src/hosts/heartbeat.ts";
import { FakeHost } from "./support/fake-host.ts";
import { MachineUpkeep } from "./support/machine-upkeep.ts";
import { refused } from "./support/members.ts";
import { World } from "./support/world.ts";

let world: World;
let upkeep: MachineUpkeep;
beforeEach(async () => {
  world = await World.open();
  upkeep = new MachineUpkeep(world);
});
afterEach(() => world[Symbol.asyncDispose]());

const never = new AbortController().signal;

const dead = "claimed_until = now() - interval '1 ms'";

test("whatever control was at when it died, the next one finishes", async () => {
  const creating = await world.createMachine();
  const starting = await world.createMachine();
  const started = await world.createMachine();
  const stopping = await world.createMachine();
  const between = await world.createMachine();
  await upkeep.set(creating.id, `status = 'creating', started_at = null, ${dead}`);
  await upkeep.set(started.id, `status = 'starting', ${dead}`);
  world.host.end(starting.id, "the host has not begun");
  await upkeep.set(starting.id, `status = 'starting', execution_id = 'exe_new', ${dead}`);
  await upkeep.set(stopping.id, `status = 'stopping', desired = 'stopped', ${dead}`);
  await world.call("POST", `/v1/machines/${between.id}/stop`);
  await upkeep.set(between.id, "desired = 'running', restart_wished = true");
  await upkeep.cleanUp();
  expect(await upkeep.get(creating.id)).toMatchObject({
    status: "failed",
    reason: "the control plane stopped while it was creating the machine",
    restart_at: null,
  });
  expect(await upkeep.get(started.id)).toMatchObject({ status: "running", reason: null });
  expect(await upkeep.get(starting.id)).toMatchObject({
    status: "failed",
    reason: "the control plane stopped while it was starting the machine",
  });
  expect(await upkeep.get(stopping.id)).toMatchObject({ status: "stopped", reason: "stopped by request" });
  await upkeep.allDue();
  await upkeep.startWaiting();
  expect(await upkeep.get(starting.id)).toMatchObject({ status: "running", restarts: 1 });
  expect(await upkeep.get(between.id)).toMatchObject({ status: "running", restarts: 0 });
  expect([...world.host.vms.keys()].toSorted()).toEqual(
    [started, starting, stopping, between].map(({ id }) => id).toSorted(),
  );
});

test("a start that was taken for dead does not come to life twice", async () => {
  const { id } = await world.createMachine();
  await world.call("POST", `/v1/machines/${id}/stop`);
  world.host.beforeStart = async () => {
    world.host.beforeStart = async () => undefined;
    await upkeep.set(id, dead);
    await upkeep.cleanUp();
  };
  const answer = await world.call("POST", `/v1/machines/${id}/start`);
  expect(refused(answer)).toEqual([429, "machine_busy"]);
  await upkeep.cleanUp();
  expect(world.host.vms.get(id)?.status).toBe("stopped");
  await upkeep.allDue();
  await upkeep.startWaiting();
  expect((await upkeep.get(id)).status).toBe("running");
});

test("a machine whose host was taken for dead goes on with its life when it comes back, and is not started again", async () => {
  const { id, started_at } = await world.createMachine();
  await upkeep.set(id, "status = 'failed', host_lost = true, reason = 'its host went offline'");
  await sql`insert into restarts (machine_id, due_at) values (${id}, now() + interval '1 h')`.execute(
    world.db,
  );
  const calls = world.host.calls.length;
  await upkeep.cleanUp();
  expect(await upkeep.get(id)).toMatchObject({
    status: "running",
    started_at,
    reason: "its host came back with it",
    restart_at: null,
  });
  expect(world.host.calls.slice(calls)).toEqual(["GET /vms"]);
});

test("a machine whose disk does not matter is placed on another host when its own is lost, and what comes back of it is removed", async () => {
  await using second = new FakeHost();
  second.name = "second";
  await second.start();
  const { id, host_id } = await world.createMachine({ restart: { disk: "disposable" } });
  await heartbeat(world.context, { hostSocket: second.socketPath, everyMs: 1_000, graceMs: 0 }).activate(
    never,
  );
  await sql`update hosts set status = 'offline' where name = 'fake'`.execute(world.db);
  await upkeep.set(id, "status = 'failed', host_lost = true, reason = 'its host went offline'");
  await sql`insert into restarts (machine_id, due_at) values (${id}, now())`.execute(world.db);
  await upkeep.startWaiting();
  const moved = await upkeep.get(id);
  expect(moved).toMatchObject({
    status: "running",
    restarts: 1,
    reason: "its host was lost, so it was placed on another one, with a new disk",
  });
  expect(moved.host_id).not.toBe(host_id);
  expect([second.vms.has(id), world.host.vms.has(id)]).toEqual([true, true]);
  await world.beat();
  await upkeep.cleanUp();
  expect([second.vms.has(id), world.host.vms.has(id), world.host.disks.has(id)]).toEqual([
    true,
    false,
    false,
  ]);
  expect((await upkeep.get(id)).status).toBe("running");
});

test("a destruction that the host did not confirm is finished, and its disk of an earlier life goes too", async () => {
  const { id } = await world.createMachine();
  world.host.end(id, "it ended");
  await upkeep.set(id, "status = 'starting', execution_id = 'exe_new'");
  await world.call("DELETE", `/v1/machines/${id}`);
  await upkeep.cleanUp();
  expect([(await upkeep.get(id)).status, world.host.disks.has(id)]).toEqual(["destroyed", false]);
});
