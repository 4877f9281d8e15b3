// Machines that begin where another one was: forks, and machines from a snapshot.

import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SkerryError } from "@skerry/contract/errors";
import type { Machine, MachineForks } from "@skerry/contract/machines/machine";
import type { Snapshot, SnapshotList } from "@skerry/contract/snapshots/snapshot";
import type { VmEvent } from "@skerry/contract/vms/events";
import { setLimits } from "../src/limits/organization-limits.ts";
import { MachineUpkeep } from "./support/machine-upkeep.ts";
import { startControl } from "./support/replica.ts";
import { eventually, World, type Answer } from "./support/world.ts";

let world: World;
let upkeep: MachineUpkeep;
let id: string;
beforeEach(async () => {
  world = await World.open();
  upkeep = new MachineUpkeep(world);
  id = (await world.createMachine(source)).id;
});
afterEach(() => world[Symbol.asyncDispose]());

const source = {
  ...{ name: "worker", command: "exec count", env: { A: "b" }, metadata: { job: "7" }, stop_timeout: "3s" },
  restart: { policy: "always", max_retries: 4, disk: "disposable" },
  egress: { mode: "deny_all" },
};

interface Failure {
  readonly code: string;
  readonly context: Record<string, unknown>;
}

const post = <T>(path: string, body: unknown = {}, more = {}): Promise<Answer<T & Failure>> =>
  world.call("POST", path, { body, ...more });
const fork = (count: number, more = {}) => post<MachineForks>(`/v1/machines/${id}/fork`, { count }, more);
const take = async (name?: string) =>
  (await post<Snapshot>(`/v1/machines/${id}/snapshots`, name === undefined ? {} : { name })).body;
const from = (snapshot: string, more = {}) => post<Machine>("/v1/machines", { snapshot, ...more });
const listed = async () => (await world.call<SnapshotList>("GET", "/v1/snapshots")).body.items;
const events = async (which: string) =>
  (await world.call<{ items: VmEvent[] }>("GET", `/v1/machines/${which}/events`)).body.items
    .toReversed()
    .map(({ kind, reason }) => [kind, reason]);
const DEAD = sql`claimed_until = now() - interval '1 ms'`;

/** Of all machines, by how many have it. */
async function statuses(): Promise<Record<string, number>> {
  const { rows } = await sql<{ status: string; count: number }>`
    select status, count(*)::integer as count from machines group by status`.execute(world.db);
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
}

test("forks have all of a machine but its name and its history, each with a disk of its own", async () => {
  const { id: parent } = await take();
  await upkeep.set(id, "restarts = 3, retries = 2, exit_code = 9");
  const made = await fork(3);
  expect(made.status).toBe(201);
  const ids = made.body.items.map((one) => one.id);
  expect(new Set([id, ...ids]).size).toBe(4);
  for (const one of made.body.items) {
    expect(one).toMatchObject({
      ...{
        status: "running",
        desired: "running",
        name: null,
        snapshot_id: parent,
        restarts: 0,
        exit_code: null,
      },
      ...{
        command: "exec count",
        metadata: { job: "7" },
        env: { A: null },
        stop_timeout: "3s",
        reason: null,
      },
      ...{ restart: source.restart, egress: { mode: "deny_all" } },
    });
    const vm = world.host.vms.get(one.id);
    expect(vm?.spec).toMatchObject({
      ...{ env: { A: "b" }, hostname: one.id.replace("_", "-"), from: { kind: "snapshot" } },
      ...{ machine: { command: "exec count", disk: "new" }, egress: { mode: "deny_all" } },
    });
    expect(world.host.disks.get(one.id)).toBe(vm?.execution_id);
  }
  expect((await listed()).map((one) => one.id)).toEqual([parent]);
  expect([...world.host.snapshots.kept.keys()]).toEqual([parent]);
  // The snapshot that the forks began at is gone, and the machine does not go on from it.
  expect((await upkeep.get(id)).snapshot_id).toBe(parent);
  expect(await events(id)).toContainEqual(["forked", "into 3"]);
  for (const one of ids) expect((await events(one))[0]).toEqual(["created", `forked from ${id}`]);
});

test("a fork lives by the restart policy, on its own disk", async () => {
  const [one] = (await fork(1)).body.items;
  if (one === undefined) throw new Error("no fork");
  world.host.end(one.id, "its QEMU was killed", { cause: "qemu_ended" });
  await upkeep.cleanUp();
  await upkeep.allDue();
  await upkeep.startWaiting();
  expect(await upkeep.get(one.id)).toMatchObject({ status: "running", restarts: 1 });
  const { spec } = world.host.vms.get(one.id) ?? {};
  expect(spec).toMatchObject({ machine: { command: "exec count", disk: "kept" } });
  expect(spec).not.toHaveProperty("from");
  expect(await events(one.id)).toContainEqual(["restarted", null]);
  expect((await events(id)).filter(([kind]) => kind === "forked")).toHaveLength(1);
});

test("one check of the quota decides about all forks", async () => {
  world.host.memoryMib = 100_000;
  world.host.cpus = 64;
  await world.beat();
  await setLimits(world.db, world.orgId, [["quota_machines", 50]]);
  const refused = await fork(100);
  expect([refused.status, refused.body.context["quota"]]).toEqual([403, "machines"]);
  expect([await statuses(), world.host.snapshots.kept.size]).toEqual([{ running: 1 }, 0]);
  await setLimits(world.db, world.orgId, [["quota_machines", 101]]);
  expect((await fork(100)).body.items).toHaveLength(100);
  expect((await fork(1)).body.code).toBe("quota_exceeded");
  for (const count of [0, 101, 1.5]) expect((await fork(count)).status).toBe(400);
});

test("where one fork does not start there is none: nothing is listed, held or left on the host", async () => {
  const before = (await world.call("GET", "/v1/limits")).body["quotas"];
  world.host.snapshots.startsLeft = 2;
  const failed = await fork(4);
  expect([failed.status, failed.body.code]).toEqual([502, "guest_failed"]);
  expect(await statuses()).toEqual({ destroyed: 4, running: 1 });
  expect([[...world.host.vms.keys()], [...world.host.disks.keys()]]).toEqual([[id], [id]]);
  expect(world.host.snapshots.kept.size).toBe(0);
  expect((await world.call("GET", "/v1/limits")).body["quotas"]).toEqual(before);
});

test("a fork whose host does not confirm its end is destroyed as soon as it does", async () => {
  world.host.snapshots.startsLeft = 1;
  const { failures } = world.host;
  world.host.snapshots.after = async () => {
    failures.set("destroy", new SkerryError("internal", "device busy"));
  };
  expect((await fork(2)).status).toBe(502);
  expect(await statuses()).toEqual({ destroying: 2, running: 1 });
  failures.delete("destroy");
  await sql`update machines set retry_at = now()`.execute(world.db);
  await upkeep.cleanUp();
  expect([await statuses(), [...world.host.vms.keys()]]).toEqual([{ destroyed: 2, running: 1 }, [id]]);
});

test("a fork that is sent again under its key is the same fork", async () => {
  const more = { headers: { "idempotency-key": "one" } };
  const first = await fork(2, more);
  const again = await fork(2, more);
  expect(again.body).toEqual(first.body);
  expect(again.headers.get("idempotent-replayed")).toBe("true");
  expect((await fork(3, more)).body.code).toBe("idempotency_conflict");
  expect(await statuses()).toEqual({ running: 3 });
});

test.each([
  ["before the host has taken its snapshot", "snapshot"],
  ["while its machines start", "start"],
] as const)(
  "a control process that dies %s leaves no machine of a fork, and no snapshot",
  async (_what, at) => {
    let reached = false;
    const hang = async () => {
      reached = true;
      await new Promise(() => undefined);
    };
    const { beforeStart } = world.host;
    let started = 0;
    if (at === "snapshot") world.host.snapshots.before = hang;
    // One of them runs by then.
    else world.host.beforeStart = () => ((started += 1) > 1 ? hang() : beforeStart(""));
    await using control = await startControl(world);
    const more = { headers: { "idempotency-key": "one" } };
    world
      .call("POST", `/v1/machines/${id}/fork`, { body: { count: 3 }, url: control.url, ...more })
      .catch(() => undefined);
    await eventually(() => reached, "the host is asked");
    await control.kill();
    world.host.snapshots.before = async () => undefined;
    world.host.beforeStart = beforeStart;
    await upkeep.cleanUp();
    expect(await statuses()).toEqual({ creating: 3, running: 1 });
    await sql`update machines set ${DEAD} where status = 'creating'`.execute(world.db);
    await sql`update snapshots set ${DEAD}`.execute(world.db);
    await upkeep.cleanUp();
    await upkeep.cleanUp();
    expect(await statuses()).toEqual({ destroyed: 3, running: 1 });
    expect([[...world.host.vms.keys()], world.host.snapshots.kept.size, await listed()]).toEqual([
      [id],
      0,
      [],
    ]);
    // The request that was cut off is sent again, and makes three, not six.
    expect((await fork(3, more)).body.items).toHaveLength(3);
    expect(await statuses()).toEqual({ destroyed: 3, running: 4 });
  },
);

test("forks whose host goes offline while they are made are none when it comes back", async () => {
  world.host.snapshots.after = async () => {
    await sql`
      update machines set status = 'failed', version = version + 1, claimed_until = null,
        reason = 'host_offline: its host fake is offline' where status = 'creating'`.execute(world.db);
  };
  const failed = await fork(2);
  expect([failed.status, failed.body.code]).toEqual([409, "machine_destroyed"]);
  await upkeep.cleanUp();
  expect([await statuses(), [...world.host.vms.keys()]]).toEqual([{ destroyed: 2, running: 1 }, [id]]);
});

test("a machine that does not run is not forked, and another organization's is not there", async () => {
  const token = await world.strangerToken();
  const strange = await fork(1, { token });
  expect([strange.status, strange.body.code]).toEqual([404, "machine_not_found"]);
  const { body } = await post<{ token: string }>("/v1/auth/tokens", {
    name: "sandboxes",
    scopes: ["sandboxes:write", "machines:read"],
  });
  expect((await fork(1, { token: body.token })).status).toBe(403);
  await world.call("POST", `/v1/machines/${id}/stop`);
  const stopped = await fork(1);
  expect([stopped.status, stopped.body.code]).toEqual([409, "machine_not_running"]);
  expect(await statuses()).toEqual({ stopped: 1 });
});

test("a machine begins at a snapshot with its main process, and has what the request says besides", async () => {
  const { id: snapshot } = await take("loaded");
  await world.call("DELETE", `/v1/machines/${id}`);
  const made = await from("loaded", { name: "next", env: { C: "d" } });
  expect(made.status).toBe(201);
  expect(made.body).toMatchObject({
    ...{ snapshot_id: snapshot, template: "base", name: "next", command: "exec count", status: "running" },
    restart: { policy: "on-failure", max_retries: 10, disk: "keep" },
  });
  expect(world.host.vms.get(made.body.id)?.spec).toMatchObject({
    ...{ from: { kind: "snapshot", snapshot_id: snapshot }, env: { C: "d" } },
    machine: { command: "exec count", disk: "new" },
  });
  expect((await events(made.body.id))[0]).toEqual(["created", `from snapshot ${snapshot}`]);
});

test("a snapshot without a main process lets each machine have its own", async () => {
  id = (await world.createMachine()).id;
  expect((await take("idle")).command).toBeNull();
  expect((await from("idle", { command: "exec serve" })).body.command).toBe("exec serve");
  expect((await from("idle")).body.command).toBeNull();
});

test.each([
  ["neither a template nor a snapshot", {}, 400, "bad_request"],
  ["both", { template: "base", snapshot: "loaded" }, 400, "bad_request"],
  ["a snapshot that is not there", { snapshot: "other" }, 422, "unknown_snapshot"],
  ["another size", { snapshot: "loaded", size: "shared-cpu-2x" }, 409, "snapshot_incompatible"],
  ["another main process", { snapshot: "loaded", command: "exec other" }, 409, "snapshot_incompatible"],
  ["a snapshot of a sandbox", { snapshot: "sandboxed" }, 409, "snapshot_incompatible"],
] as const)("a creation with %s is refused", async (_what, body, status, code) => {
  await take("loaded");
  const sandbox = await world.createSandbox();
  await post(`/v1/sandboxes/${sandbox.id}/snapshots`, { name: "sandboxed" });
  const refused = await post("/v1/machines", body);
  expect([refused.status, refused.body.code]).toEqual([status, code]);
  expect(await statuses()).toEqual({ running: 1 });
});

test("no machine begins at another organization's snapshot", async () => {
  const { id: snapshot } = await take("loaded");
  const token = await world.strangerToken();
  for (const asked of [snapshot, "loaded"]) {
    const refused = await post("/v1/machines", { snapshot: asked }, { token });
    expect([refused.status, refused.body.code]).toEqual([422, "unknown_snapshot"]);
  }
});

test("a machine that never began at its snapshot is not started as another one from the template", async () => {
  const { id: snapshot } = await take("loaded");
  world.host.snapshots.startsLeft = 0;
  expect((await from("loaded", { name: "next" })).body.code).toBe("guest_failed");
  const { rows } = await sql<{ id: string }>`select id from machines where status = 'failed'`.execute(
    world.db,
  );
  const [failed] = rows;
  if (failed === undefined) throw new Error("no failed machine");
  const refused = await post(`/v1/machines/${failed.id}/start`);
  expect([refused.status, refused.body.code]).toEqual([409, "disk_gone"]);
  expect(refused.body.context).toMatchObject({ snapshot_id: snapshot });
  const anew = await post<Machine>(`/v1/machines/${failed.id}/start`, { new_disk: true });
  expect(anew.body).toMatchObject({ status: "running", snapshot_id: null });
  expect(world.host.vms.get(failed.id)?.spec).not.toHaveProperty("from");
});

test("a control process that dies while a machine begins at a snapshot leaves one that has failed", async () => {
  await take("loaded");
  let reached = false;
  const { beforeStart } = world.host;
  world.host.beforeStart = async () => {
    reached = true;
    await new Promise(() => undefined);
  };
  await using control = await startControl(world);
  world
    .call("POST", "/v1/machines", { body: { snapshot: "loaded" }, url: control.url })
    .catch(() => undefined);
  await eventually(() => reached, "the host is asked");
  await control.kill();
  world.host.beforeStart = beforeStart;
  await sql`update machines set ${DEAD} where status = 'creating'`.execute(world.db);
  await upkeep.cleanUp();
  expect([await statuses(), [...world.host.vms.keys()]]).toEqual([{ failed: 1, running: 1 }, [id]]);
});
