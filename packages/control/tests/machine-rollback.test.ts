// A machine goes back to a snapshot, or stays what it is.

import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Machine } from "@skerry/contract/machines/machine";
import type { Snapshot } from "@skerry/contract/snapshots/snapshot";
import type { VmEvent } from "@skerry/contract/vms/events";
import { MachineUpkeep } from "./support/machine-upkeep.ts";
import { startControl } from "./support/replica.ts";
import { eventually, World, type Answer } from "./support/world.ts";

let world: World;
let upkeep: MachineUpkeep;
let id: string;
let snapshot: string;
beforeEach(async () => {
  world = await World.open();
  upkeep = new MachineUpkeep(world);
  id = (await world.createMachine({ name: "worker", command: "exec count", env: { A: "b" } })).id;
  snapshot = (await take()).id;
  await take();
});
afterEach(() => world[Symbol.asyncDispose]());

interface Failure {
  readonly code: string;
}

const post = <T>(path: string, body: unknown = {}, more = {}): Promise<Answer<T & Failure>> =>
  world.call("POST", path, { body, ...more });
const take = async (of = id) => (await post<Snapshot>(`/v1/machines/${of}/snapshots`)).body;
const rollBack = (to = snapshot, more = {}) =>
  post<Machine>(`/v1/machines/${id}/rollback`, { snapshot: to }, more);
const vm = () => world.host.vms.get(id);
const DEAD = sql`claimed_until = now() - interval '1 ms'`;

async function told(): Promise<unknown[]> {
  const { body } = await world.call<{ items: VmEvent[] }>("GET", `/v1/machines/${id}/events`);
  return body.items.map(({ kind, reason }) => [kind, reason]);
}

test("a machine goes back as a new incarnation of the same row, without waiting for its main process", async () => {
  const before = vm()?.execution_id ?? "";
  const back = await rollBack();
  expect(back.status).toBe(200);
  expect(back.body).toMatchObject({
    ...{ id, name: "worker", status: "running", desired: "running", snapshot_id: snapshot, restarts: 0 },
    ...{ reason: null, restart_at: null, env: { A: "b" } },
  });
  expect(vm()?.spec).toMatchObject({
    ...{ from: { kind: "snapshot", snapshot_id: snapshot }, env: { A: "b" } },
    machine: { command: "exec count", disk: "new" },
  });
  expect((vm()?.execution_id ?? "") > before).toBe(true);
  expect(world.host.stops.map(({ grace_ms }) => grace_ms)).toEqual([0]);
  expect(await told()).toContainEqual(["rolled_back", `to snapshot ${snapshot}`]);
  expect((await post(`/v1/machines/${id}/execute`, { command: "true" })).status).toBe(200);
  await upkeep.cleanUp();
  await upkeep.startWaiting();
  expect(vm()?.spec.from).toEqual({ kind: "snapshot", snapshot_id: snapshot });
});

const ends: Readonly<Record<string, () => Promise<void>>> = {
  stopped: async () => {
    await post(`/v1/machines/${id}/stop`);
  },
  failed: async () => {
    world.host.end(id, "its QEMU was killed", { cause: "qemu_ended" });
    await upkeep.cleanUp();
  },
};

test.each(Object.entries(ends))(
  "a machine that is %s goes back and runs, and is not started a second time",
  async (status, end) => {
    await end();
    expect((await upkeep.get(id)).status).toBe(status);
    expect((await rollBack()).body).toMatchObject({
      status: "running",
      desired: "running",
      restart_at: null,
    });
    const life = vm()?.execution_id;
    await upkeep.allDue();
    await upkeep.startWaiting();
    expect(vm()?.execution_id).toBe(life);
  },
);

test.each([
  ["of another size", { size: "shared-cpu-2x", command: "exec count" }],
  ["with another main process", { command: "exec other" }],
] as const)("a snapshot %s leaves the machine as it is", async (_what, request) => {
  const other = await world.createMachine(request);
  const life = vm()?.execution_id;
  const refused = await rollBack((await take(other.id)).id);
  expect([refused.status, refused.body.code]).toEqual([409, "snapshot_incompatible"]);
  expect([vm()?.execution_id, vm()?.status, world.host.stops]).toEqual([life, "running", []]);
});

test("a snapshot that is not there, is another organization's, or is of a sandbox leaves the machine as it is", async () => {
  const life = vm()?.execution_id;
  world.host.snapshots.kept.delete(snapshot);
  expect((await rollBack()).body.code).toBe("snapshot_not_found");
  expect((await rollBack("other")).body.code).toBe("unknown_snapshot");
  const sandbox = await world.createSandbox();
  const { body } = await post<Snapshot>(`/v1/sandboxes/${sandbox.id}/snapshots`);
  expect((await rollBack(body.id)).body.code).toBe("snapshot_incompatible");
  const token = await world.strangerToken();
  const own = await post<Machine>("/v1/machines", { template: "base", command: "exec count" }, { token });
  const strange = await post(`/v1/machines/${own.body.id}/rollback`, { snapshot }, { token });
  expect([strange.status, strange.body.code]).toEqual([422, "unknown_snapshot"]);
  const ours = await rollBack(snapshot, { token });
  expect([ours.status, ours.body.code]).toEqual([404, "machine_not_found"]);
  expect([vm()?.execution_id, vm()?.status, world.host.stops]).toEqual([life, "running", []]);
});

test("a machine that was destroyed does not come back", async () => {
  await world.call("DELETE", `/v1/machines/${id}`);
  expect((await rollBack()).body.code).toBe("machine_destroyed");
  expect(vm()).toBeUndefined();
});

test("where the host refuses the snapshot the machine is started again from its own disk", async () => {
  const { snapshot_id: newest } = await upkeep.get(id);
  const disk = world.host.disks.get(id);
  world.host.snapshots.startsLeft = 0;
  const failed = await rollBack();
  expect([failed.status, failed.body.code]).toEqual([502, "guest_failed"]);
  expect((await upkeep.get(id)).status).toBe("failed");
  await upkeep.allDue();
  await upkeep.startWaiting();
  expect(await upkeep.get(id)).toMatchObject({ status: "running", snapshot_id: newest, restarts: 1 });
  expect(vm()?.spec).toMatchObject({ machine: { disk: "kept" } });
  expect(world.host.disks.get(id)).toBe(disk);
});

test("where there is no room for it when it has stopped, it waits and starts from its own disk", async () => {
  const { memoryMib } = world.host;
  world.host.memoryMib = 128;
  await world.beat();
  const refused = await rollBack();
  expect([refused.status, refused.body.code]).toEqual([503, "no_capacity"]);
  expect(await upkeep.get(id)).toMatchObject({ status: "stopped", desired: "running" });
  world.host.memoryMib = memoryMib;
  await world.beat();
  await upkeep.cleanUp();
  await upkeep.allDue();
  await upkeep.startWaiting();
  expect((await upkeep.get(id)).status).toBe("running");
  expect(vm()?.spec).toMatchObject({ machine: { disk: "kept" } });
});

test("a control process that dies while the machine stops leaves it with its own disk", async () => {
  let reached = false;
  world.host.beforeStop = async () => {
    reached = true;
    await new Promise(() => undefined);
  };
  await using control = await startControl(world);
  world
    .call("POST", `/v1/machines/${id}/rollback`, { body: { snapshot }, url: control.url })
    .catch(() => undefined);
  await eventually(() => reached, "the host is asked to stop it");
  await control.kill();
  world.host.beforeStop = async () => undefined;
  await sql`update machines set ${DEAD} where id = ${id}`.execute(world.db);
  await upkeep.cleanUp();
  await upkeep.allDue();
  await upkeep.startWaiting();
  expect(await upkeep.get(id)).toMatchObject({ status: "running", desired: "running" });
  expect(vm()?.spec).toMatchObject({ machine: { disk: "kept" } });
});

test("a control process that dies when the host has begun leaves the machine at the snapshot", async () => {
  let reached = false;
  const { beforeStart } = world.host;
  const going = Promise.withResolvers<void>();
  world.host.beforeStart = () => {
    reached = true;
    return going.promise;
  };
  await using control = await startControl(world);
  world
    .call("POST", `/v1/machines/${id}/rollback`, { body: { snapshot }, url: control.url })
    .catch(() => undefined);
  await eventually(() => reached, "the host is asked to start it");
  await control.kill();
  world.host.beforeStart = beforeStart;
  going.resolve();
  await eventually(() => vm()?.status === "running", "the host has started it");
  await sql`update machines set ${DEAD} where id = ${id}`.execute(world.db);
  await upkeep.cleanUp();
  expect((await upkeep.get(id)).status).toBe("running");
  expect(vm()?.spec.from).toEqual({ kind: "snapshot", snapshot_id: snapshot });
  expect(await told()).toContainEqual(["rolled_back", `to snapshot ${snapshot}`]);
});
