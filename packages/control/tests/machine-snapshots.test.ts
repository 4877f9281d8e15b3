// Snapshots of machines: who takes, sees and deletes them, and what they tell.

import { afterEach, beforeEach, expect, test } from "vitest";
import type { AuditList } from "@skerry/contract/audit/audit-event";
import type { Limits } from "@skerry/contract/limits/limits-report";
import type { Machine } from "@skerry/contract/machines/machine";
import type { Snapshot, SnapshotList } from "@skerry/contract/snapshots/snapshot";
import { setLimits } from "../src/limits/organization-limits.ts";
import { World, type Answer } from "./support/world.ts";

let world: World;
let id: string;
beforeEach(async () => {
  world = await World.open();
  id = (await world.createMachine({ name: "worker", command: "exec count" })).id;
});
afterEach(() => world[Symbol.asyncDispose]());

interface Failure {
  readonly code: string;
  readonly context: Record<string, unknown>;
}

const post = <T>(path: string, body: unknown, more = {}): Promise<Answer<T & Failure>> =>
  world.call("POST", path, { body, ...more });
const take = (name?: string, more = {}) =>
  post<Snapshot>(`/v1/machines/${id}/snapshots`, name === undefined ? {} : { name }, more);
const listed = async (query = "", more = {}) =>
  (await world.call<SnapshotList>("GET", `/v1/snapshots${query}`, more)).body.items.map((one) => one.id);

async function tokenWith(...scopes: readonly string[]): Promise<string> {
  const { body } = await post<{ token: string }>("/v1/auth/tokens", { name: scopes.join(), scopes });
  return body.token;
}

test("a snapshot of a machine tells what it was taken of, and the machine runs on", async () => {
  const first = await take("loaded");
  expect(first.status).toBe(201);
  expect(first.body).toMatchObject({
    ...{ name: "loaded", status: "ready", machine_id: id, sandbox_id: null, command: "exec count" },
    ...{ parent_id: null, template: "base", size: "shared-cpu-1x" },
  });
  const second = (await take()).body;
  expect(second.parent_id).toBe(first.body.id);
  const { body: machine } = await world.call<Machine>("GET", `/v1/machines/${id}`);
  expect(machine).toMatchObject({ status: "running", snapshot_id: second.id, restarts: 0 });
  expect((await world.call("DELETE", "/v1/snapshots/loaded")).status).toBe(204);
  expect([...world.host.snapshots.kept.keys()]).toEqual([second.id]);
});

test("a list has the snapshots of both kinds, or of one", async () => {
  const sandbox = await world.createSandbox();
  const ofMachine = (await take()).body.id;
  const ofSandbox = (await post<Snapshot>(`/v1/sandboxes/${sandbox.id}/snapshots`, {})).body;
  expect(ofSandbox).toMatchObject({ sandbox_id: sandbox.id, machine_id: null, command: null });
  expect(await listed()).toEqual([ofSandbox.id, ofMachine]);
  expect(await listed("?of=machine")).toEqual([ofMachine]);
  expect(await listed("?of=sandbox")).toEqual([ofSandbox.id]);
  expect((await world.call("GET", "/v1/snapshots?of=volume")).status).toBe(400);
});

test("none is taken of a machine that does not run", async () => {
  await world.call("POST", `/v1/machines/${id}/stop`);
  const refused = await take();
  expect([refused.status, refused.body.code]).toEqual([409, "machine_not_running"]);
  expect([await listed(), world.host.snapshots.kept.size]).toEqual([[], 0]);
});

test("a token for one kind of VM sees, uses and deletes the snapshots of that kind alone", async () => {
  const sandbox = await world.createSandbox();
  const ofMachine = (await take("loaded")).body.id;
  const ofSandbox = (await post<Snapshot>(`/v1/sandboxes/${sandbox.id}/snapshots`, {})).body.id;
  const sandboxes = { token: await tokenWith("sandboxes:read", "sandboxes:write") };
  const reader = { token: await tokenWith("machines:read") };
  const neither = { token: await tokenWith("templates:read") };
  expect(await listed("", sandboxes)).toEqual([ofSandbox]);
  expect(await listed("?of=machine", sandboxes)).toEqual([]);
  expect(await listed("", reader)).toEqual([ofMachine]);
  expect((await world.call("GET", "/v1/snapshots", neither)).status).toBe(403);
  for (const asked of [ofMachine, "loaded"]) {
    expect((await world.call("GET", `/v1/snapshots/${asked}`, sandboxes)).status).toBe(404);
    expect((await world.call("DELETE", `/v1/snapshots/${asked}`, sandboxes)).status).toBe(404);
    const begun = await post("/v1/sandboxes", { snapshot: asked }, sandboxes);
    expect([begun.status, begun.body.code]).toEqual([422, "unknown_snapshot"]);
  }
  expect((await take(undefined, sandboxes)).status).toBe(403);
  expect((await world.call("DELETE", "/v1/snapshots/loaded", reader)).status).toBe(403);
  const both = { token: await tokenWith("machines:read", "sandboxes:write") };
  expect((await world.call("DELETE", "/v1/snapshots/loaded", both)).status).toBe(403);
  const writer = { token: await tokenWith("machines:write") };
  expect((await world.call("DELETE", `/v1/snapshots/${ofSandbox}`, writer)).status).toBe(404);
  expect((await world.call("DELETE", "/v1/snapshots/loaded", writer)).status).toBe(204);
  expect([...world.host.snapshots.kept.keys()]).toEqual([ofSandbox]);
});

test.each([
  ["machines", "sandboxes"],
  ["sandboxes", "machines"],
] as const)(
  "a token that may write %s and read %s does not read the snapshots of the first",
  async (written, read) => {
    const sandbox = await world.createSandbox();
    const ids = {
      machines: (await take("of-machines")).body.id,
      sandboxes: (await post<Snapshot>(`/v1/sandboxes/${sandbox.id}/snapshots`, { name: "of-sandboxes" }))
        .body.id,
    };
    const attacker = { token: await tokenWith(`${read}:read`, `${written}:write`) };
    expect(await listed("", attacker)).toEqual([ids[read]]);
    expect(await listed(`?of=${written === "machines" ? "machine" : "sandbox"}`, attacker)).toEqual([]);
    for (const asked of [ids[written], `of-${written}`]) {
      const got = await world.call<Failure>("GET", `/v1/snapshots/${asked}`, attacker);
      expect([got.status, got.body.code]).toEqual([404, "snapshot_not_found"]);
    }
    // What it may do with them is told without showing one.
    expect((await world.call("DELETE", `/v1/snapshots/of-${written}`, attacker)).status).toBe(204);
    expect((await world.call("DELETE", `/v1/snapshots/of-${read}`, attacker)).status).toBe(403);
  },
);

test("a machine and its snapshots are not there for another organization", async () => {
  const { id: snapshot } = (await take("loaded")).body;
  const stranger = { token: await world.strangerToken() };
  const taken = await take(undefined, stranger);
  expect([taken.status, taken.body.code]).toEqual([404, "machine_not_found"]);
  expect(await listed("", stranger)).toEqual([]);
  for (const asked of [snapshot, "loaded"]) {
    expect((await world.call("GET", `/v1/snapshots/${asked}`, stranger)).status).toBe(404);
    expect((await world.call("DELETE", `/v1/snapshots/${asked}`, stranger)).status).toBe(404);
  }
  expect([...world.host.snapshots.kept.keys()]).toEqual([snapshot]);
});

test("no sandbox begins at the snapshot of a machine, or goes back to one", async () => {
  const sandbox = await world.createSandbox();
  await take("loaded");
  for (const [path, body] of [
    ["/v1/sandboxes", { snapshot: "loaded" }],
    [`/v1/sandboxes/${sandbox.id}/rollback`, { snapshot: "loaded" }],
  ] as const) {
    const refused = await post(path, body);
    expect([refused.status, refused.body.code]).toEqual([409, "snapshot_incompatible"]);
  }
  expect([...world.host.vms.keys()].toSorted()).toEqual([id, sandbox.id].toSorted());
});

test("snapshots of machines and of sandboxes share names and quotas", async () => {
  const sandbox = await world.createSandbox();
  await take("loaded");
  const path = `/v1/sandboxes/${sandbox.id}/snapshots`;
  expect((await post(path, { name: "loaded" })).body.code).toBe("name_taken");
  await setLimits(world.db, world.orgId, [["quota_snapshots", 2]]);
  expect((await post(path, {})).status).toBe(201);
  expect((await take()).body.context).toMatchObject({ quota: "snapshots", used: 2, limit: 2 });
  const { quotas } = (await world.call<Limits>("GET", "/v1/limits")).body;
  expect(quotas).toMatchObject({ snapshots: { used: 2 } });
});

test("a snapshot that is asked for again under its key is the same, and is in the audit log once", async () => {
  const more = { headers: { "idempotency-key": "one" } };
  const first = await take("loaded", more);
  const again = await take("loaded", more);
  expect(again.body).toEqual(first.body);
  expect((await take("other", more)).body.code).toBe("idempotency_conflict");
  expect(await listed()).toEqual([first.body.id]);
  const { body } = await world.call<AuditList>("GET", "/v1/audit?action=snapshot.create");
  expect(body.items.filter(({ resource }) => resource.id === first.body.id)).toHaveLength(1);
});
