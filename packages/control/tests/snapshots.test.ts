// Snapshots of sandboxes, and what begins at them: new sandboxes, forks and rollbacks.

import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SkerryError } from "@skerry/contract/errors";
import type { Limits } from "@skerry/contract/limits/limits-report";
import type { Sandbox, SandboxForks } from "@skerry/contract/sandboxes/sandbox";
import type { Snapshot, SnapshotList } from "@skerry/contract/snapshots/snapshot";
import { setLimits } from "../src/limits/organization-limits.ts";
import { vmReconciler } from "../src/platform/vm-reconciler.ts";
import { startControl } from "./support/replica.ts";
import { never } from "./support/two-hosts.ts";
import { eventually, World, type Answer } from "./support/world.ts";

let world: World;
let id: string;
beforeEach(async () => {
  world = await World.open();
  id = (await world.createSandbox({ name: "desk", env: { A: "b" }, metadata: { job: "7" } })).id;
});
afterEach(() => world[Symbol.asyncDispose]());

interface Failure {
  readonly code: string;
  readonly message: string;
  readonly context: Record<string, unknown>;
}

const post = <T>(
  path: string,
  body: unknown = {},
  headers: Record<string, string> = {},
): Promise<Answer<T & Failure>> => world.call("POST", path, { body, headers });
const take = (name?: string) =>
  post<Snapshot>(`/v1/sandboxes/${id}/snapshots`, name === undefined ? {} : { name });
const fork = (count: number, headers = {}) =>
  post<SandboxForks>(`/v1/sandboxes/${id}/fork`, { count }, headers);
const rollBack = (snapshot: string) => post<Sandbox>(`/v1/sandboxes/${id}/rollback`, { snapshot });
const from = (snapshot: string, more = {}) => post<Sandbox>("/v1/sandboxes", { snapshot, ...more });
const sandbox = async (which = id): Promise<Sandbox> =>
  (await world.call<Sandbox>("GET", `/v1/sandboxes/${which}`)).body;
const listed = async () => (await world.call<SnapshotList>("GET", "/v1/snapshots")).body.items;
const quotas = async () => (await world.call<Limits>("GET", "/v1/limits")).body.quotas;
const cleanUp = () => vmReconciler(world.context, 1_000).activate(never);
const rows = async (): Promise<string[]> =>
  (await world.db.selectFrom("sandboxes").select("status").execute()).map(({ status }) => status);
const DEAD = sql`claimed_until = now() - interval '1 ms'`;

test("a snapshot is taken, found by id and name, listed and deleted, and tells its parent", async () => {
  const first = await take("one");
  expect(first.status).toBe(201);
  expect(first.body).toMatchObject({
    ...{ name: "one", status: "ready", sandbox_id: id, parent_id: null, template: "base" },
    ...{ memory_bytes: 3_000_000, disk_bytes: 2_000_000, size: "shared-cpu-1x" },
  });
  const second = (await take()).body;
  expect(second.parent_id).toBe(first.body.id);
  expect((await sandbox()).snapshot_id).toBe(second.id);
  expect((await listed()).map((one) => one.id)).toEqual([second.id, first.body.id]);
  expect((await world.call<Snapshot>("GET", "/v1/snapshots/one")).body.id).toBe(first.body.id);
  expect((await world.call("DELETE", "/v1/snapshots/one")).status).toBe(204);
  expect((await world.call("GET", "/v1/snapshots/one")).status).toBe(404);
  expect([...world.host.snapshots.kept.keys()]).toEqual([second.id]);
  expect((await take("one")).status).toBe(201);
});

test("a name is given once, and not one that begins as an id does", async () => {
  await take("one");
  expect((await take("one")).body.code).toBe("name_taken");
  expect((await take("snp_mine")).body.code).toBe("bad_request");
});

test("another organization's snapshots are not there for anybody else", async () => {
  const { id: snapshot } = (await take("one")).body;
  const token = await world.strangerToken();
  for (const asked of [snapshot, "one"]) {
    expect((await world.call("GET", `/v1/snapshots/${asked}`, { token })).status).toBe(404);
    expect((await world.call("DELETE", `/v1/snapshots/${asked}`, { token })).status).toBe(404);
    const begun = await world.call("POST", "/v1/sandboxes", { token, body: { snapshot: asked } });
    expect([begun.status, begun.body["code"]]).toEqual([422, "unknown_snapshot"]);
  }
  expect((await world.call<SnapshotList>("GET", "/v1/snapshots", { token })).body.items).toEqual([]);
  const own = await world.call<Sandbox>("POST", "/v1/sandboxes", { token, body: { template: "base" } });
  const back = await world.call("POST", `/v1/sandboxes/${own.body.id}/rollback`, {
    token,
    body: { snapshot },
  });
  expect(back.body["code"]).toBe("unknown_snapshot");
  expect(world.host.snapshots.kept.has(snapshot)).toBe(true);
});

test("a sandbox begins at a snapshot, with its template and its size, and what the request says", async () => {
  const { id: snapshot } = (await take("one")).body;
  const made = await from("one", { env: { C: "d" }, mode: "persistent" });
  expect(made.status).toBe(201);
  expect(made.body).toMatchObject({
    snapshot_id: snapshot,
    template: "base",
    mode: "persistent",
    name: null,
  });
  expect(world.host.vms.get(made.body.id)?.spec).toMatchObject({
    from: { kind: "snapshot", snapshot_id: snapshot },
    env: { C: "d" },
  });
});

test.each([
  ["neither a template nor a snapshot", {}, 400, "bad_request"],
  ["both", { template: "base", snapshot: "one" }, 400, "bad_request"],
  ["a snapshot that is not there", { snapshot: "other" }, 422, "unknown_snapshot"],
  ["another size", { snapshot: "one", size: "shared-cpu-2x" }, 409, "snapshot_incompatible"],
] as const)("a creation with %s is refused", async (_what, body, status, code) => {
  await take("one");
  const refused = await post("/v1/sandboxes", body);
  expect([refused.status, refused.body.code]).toEqual([status, code]);
});

test("where the host of a snapshot has no room a creation from it is told so", async () => {
  await take("one");
  world.host.memoryMib = 256;
  await world.beat();
  const refused = await from("one");
  expect([refused.status, refused.body.code]).toEqual([503, "no_capacity"]);
});

test("forks have all of a sandbox but its name, and leave no snapshot behind", async () => {
  const { id: parent } = (await take()).body;
  const made = await fork(3);
  expect(made.status).toBe(201);
  expect(made.body.items).toHaveLength(3);
  for (const one of made.body.items) {
    expect(one).toMatchObject({
      ...{ status: "running", name: null, snapshot_id: parent, metadata: { job: "7" }, env: { A: null } },
    });
    expect(world.host.vms.get(one.id)?.spec).toMatchObject({ env: { A: "b" }, from: { kind: "snapshot" } });
  }
  expect(await listed()).toHaveLength(1);
  expect([...world.host.snapshots.kept.keys()]).toEqual([parent]);
  expect(new Set(made.body.items.map((one) => one.id)).size).toBe(3);
});

test("a hundred forks against a limit of fifty make none", async () => {
  world.host.memoryMib = 100_000;
  world.host.cpus = 64;
  await world.beat();
  await setLimits(world.db, world.orgId, [["quota_sandboxes", 50]]);
  const refused = await fork(100);
  expect([refused.status, refused.body.context["quota"]]).toEqual([403, "sandboxes"]);
  expect([await rows(), world.host.snapshots.kept.size]).toEqual([["running"], 0]);
  await setLimits(world.db, world.orgId, [["quota_sandboxes", 101]]);
  expect((await fork(100)).body.items).toHaveLength(100);
  expect((await fork(1)).body.code).toBe("quota_exceeded");
});

test("where one fork does not start there is none, and nothing of them is left", async () => {
  world.host.snapshots.startsLeft = 2;
  const failed = await fork(4);
  expect([failed.status, failed.body.code]).toEqual([502, "guest_failed"]);
  expect((await rows()).toSorted()).toEqual(["failed", "failed", "failed", "failed", "running"]);
  expect([...world.host.vms.keys()]).toEqual([id]);
  expect(world.host.snapshots.kept.size).toBe(0);
});

test("a fork that is sent again under its key is the same fork", async () => {
  const headers = { "idempotency-key": "one" };
  const first = await fork(2, headers);
  const again = await fork(2, headers);
  expect(again.body).toEqual(first.body);
  expect(again.headers.get("idempotent-replayed")).toBe("true");
  expect((await fork(3, headers)).body.code).toBe("idempotency_conflict");
  expect(await rows()).toHaveLength(3);
});

test("a control process that dies in the middle of a fork leaves nothing but failed rows", async () => {
  let reached = false;
  world.host.snapshots.after = async () => {
    reached = true;
    await new Promise(() => undefined);
  };
  await using control = await startControl(world);
  const asked = world.call("POST", `/v1/sandboxes/${id}/fork`, { body: { count: 2 }, url: control.url });
  asked.catch(() => undefined);
  await eventually(() => reached, "the host has taken the snapshot");
  await control.kill();
  world.host.snapshots.after = async () => undefined;
  await sql`update sandboxes set ${DEAD} where status = 'creating'`.execute(world.db);
  await sql`update snapshots set ${DEAD}`.execute(world.db);
  await cleanUp();
  expect((await rows()).toSorted()).toEqual(["failed", "failed", "running"]);
  expect([world.host.snapshots.kept.size, await listed()]).toEqual([0, []]);
});

test.each([
  ["before the host has taken it", "before", "failed"],
  ["after the host has taken it", "after", "ready"],
] as const)("a control process that dies %s leaves a snapshot that says so", async (_what, when, status) => {
  let reached = false;
  world.host.snapshots[when] = async () => {
    reached = true;
    await new Promise(() => undefined);
  };
  await using control = await startControl(world);
  world.call("POST", `/v1/sandboxes/${id}/snapshots`, { body: {}, url: control.url }).catch(() => undefined);
  await eventually(() => reached, "the host is asked for it");
  await control.kill();
  world.host.snapshots[when] = async () => undefined;
  await cleanUp();
  expect((await listed()).map((one) => one.status)).toEqual(["creating"]);
  await sql`update snapshots set ${DEAD}`.execute(world.db);
  await cleanUp();
  expect((await listed()).map((one) => one.status)).toEqual([status]);
});

test("rows and hosts are compared both ways, and what has no row stays on its host", async () => {
  const { id: gone } = (await take()).body;
  const { id: there } = (await take()).body;
  const unknown = "snp_00000000000000000000000001";
  const kept = world.host.snapshots.kept.get(there);
  if (kept === undefined) throw new Error("no snapshot");
  world.host.snapshots.kept.set(unknown, { ...kept, id: unknown });
  world.host.snapshots.kept.delete(gone);
  await cleanUp();
  expect((await listed()).map(({ status }) => status)).toEqual(["ready", "failed"]);
  expect([...world.host.snapshots.kept.keys()]).toEqual([there, unknown]);
  expect((await from(gone)).body.code).toBe("unknown_snapshot");
});

test("a sandbox goes back to a snapshot as a new incarnation of the same row, also while it is paused", async () => {
  id = (await world.createSandbox({ mode: "persistent" })).id;
  const { id: snapshot } = (await take()).body;
  await take();
  const before = world.host.vms.get(id)?.execution_id ?? "";
  const back = await rollBack(snapshot);
  expect(back.body).toMatchObject({ id, status: "running", snapshot_id: snapshot });
  const after = world.host.vms.get(id);
  expect(after?.spec.from).toEqual({ kind: "snapshot", snapshot_id: snapshot });
  expect((after?.execution_id ?? "") > before).toBe(true);
  await post(`/v1/sandboxes/${id}/pause`);
  expect((await rollBack(snapshot)).body).toMatchObject({ status: "running", paused_at: null });
  expect((await post(`/v1/sandboxes/${id}/execute`, { command: "true" })).status).toBe(200);
});

test("a rollback to what is not there, or does not fit, leaves the sandbox as it is", async () => {
  const { id: snapshot } = (await take()).body;
  world.host.snapshots.kept.delete(snapshot);
  expect((await rollBack(snapshot)).body.code).toBe("snapshot_not_found");
  const life = world.host.vms.get(id)?.execution_id;
  expect((await sandbox()).status).toBe("running");
  id = (await world.createSandbox({ size: "shared-cpu-2x" })).id;
  const { id: larger } = (await take()).body;
  id = (await world.createSandbox()).id;
  expect((await rollBack(larger)).body.code).toBe("snapshot_incompatible");
  expect([life === undefined, (await sandbox()).status]).toEqual([false, "running"]);
});

test("a control process that dies after a rollback leaves the sandbox at the snapshot", async () => {
  const { id: snapshot } = (await take()).body;
  let reached = false;
  const { beforeStart } = world.host;
  const going = Promise.withResolvers<void>();
  world.host.beforeStart = () => {
    reached = true;
    return going.promise;
  };
  await using control = await startControl(world);
  world
    .call("POST", `/v1/sandboxes/${id}/rollback`, { body: { snapshot }, url: control.url })
    .catch(() => undefined);
  await eventually(() => reached, "the host is asked to start it");
  await control.kill();
  world.host.beforeStart = beforeStart;
  going.resolve();
  await eventually(() => world.host.vms.get(id)?.status === "running", "the host has started it");
  await sql`update sandboxes set ${DEAD} where id = ${id}`.execute(world.db);
  await cleanUp();
  expect((await sandbox()).status).toBe("running");
  expect((await post(`/v1/sandboxes/${id}/execute`, { command: "true" })).status).toBe(200);
});

test("snapshots have quotas of their own, by number and by size, and forks do not count", async () => {
  await take();
  expect(await quotas()).toMatchObject({ snapshots: { used: 1 }, snapshot_gib: { used: 1 } });
  await setLimits(world.db, world.orgId, [["quota_snapshots", 1]]);
  expect((await take()).body.context).toMatchObject({ quota: "snapshots", used: 1, limit: 1 });
  expect((await fork(1)).status).toBe(201);
  await setLimits(world.db, world.orgId, [
    ["quota_snapshots", 9],
    ["quota_snapshot_gib", 1],
  ]);
  expect((await take()).body.context["quota"]).toBe("snapshot_gib");
});

test("a snapshot that its host refuses has failed with the reason, and its name is free", async () => {
  world.host.snapshots.failure = new SkerryError("disk_full", "The disk is full.");
  expect((await take("one")).body.code).toBe("disk_full");
  expect(await listed()).toMatchObject([{ status: "failed", reason: "The disk is full." }]);
  world.host.snapshots.failure = undefined;
  expect((await take("one")).status).toBe(201);
});
