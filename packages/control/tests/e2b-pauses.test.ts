// Pauses of E2B's clients that keep the disk alone: the guest writes it out, and boots from it when it is resumed.

import { sql } from "kysely";
import { Sandbox } from "e2b-2.51";
import { expect, test } from "vitest";
import type { Limits } from "@skerry/contract/limits/limits-report";
import { setLimits } from "../src/limits/organization-limits.ts";
import { sandboxReaper } from "../src/sandboxes/sandbox-reaper.ts";
import { createE2bSandbox, e2bOptions, nativeId } from "./support/e2b.ts";
import { never } from "./support/two-hosts.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const originOf = (id: string) => world.host.vms.get(id)?.spec.from;
const isSynced = (id: string) => world.host.pauses.synced.get(id);
const rowOf = async (id: string) => {
  const { rows } = await sql<{ status: string; reboots: boolean }>`
    select status, reboots from sandboxes where id = ${id}`.execute(world.db);
  return rows[0];
};

test("a pause without memory has the guest write its disk out, and the next life boots from that", async () => {
  const sandbox = await Sandbox.create({ ...e2bOptions(world), metadata: { of: "me" } });
  const id = nativeId(sandbox.sandboxId);
  expect(await sandbox.pause({ keepMemory: false })).toBe(true);
  expect([isSynced(id), await sandbox.isRunning()]).toEqual([true, false]);
  expect(await sandbox.pause()).toBe(false);
  const again = await sandbox.connect();
  expect([nativeId(again.sandboxId), originOf(id)]).toEqual([id, { kind: "paused", reboot: true }]);
  expect((await again.getInfo()).metadata).toEqual({ of: "me" });
  // The next pause keeps the memory, as the request for it says nothing.
  await again.pause();
  expect(isSynced(id)).toBe(false);
  await again.connect();
  expect(originOf(id)).toEqual({ kind: "paused" });
});

test("one that is resumed natively boots as well, and one that cannot be resumed still boots the next time", async () => {
  const sandbox = await Sandbox.create(e2bOptions(world));
  const id = nativeId(sandbox.sandboxId);
  await sandbox.pause({ keepMemory: false });
  world.host.pauses.before = async (step) => {
    if (step === "resume") throw new Error("the host is killed");
  };
  expect((await world.call("POST", `/v1/sandboxes/${id}/resume`)).status).toBeGreaterThanOrEqual(500);
  world.host.pauses.before = async () => undefined;
  expect((await rowOf(id))?.reboots).toBe(true);
  await sql`update sandboxes set status = 'paused', claimed_until = null where id = ${id}`.execute(world.db);
  expect((await world.call("POST", `/v1/sandboxes/${id}/resume`)).status).toBe(200);
  expect(originOf(id)).toEqual({ kind: "paused", reboot: true });
  expect(await rowOf(id)).toEqual({ status: "running", reboots: false });
});

test("a connection makes the time of one that runs longer and never shorter, and that of a paused one begins anew", async () => {
  const sandbox = await Sandbox.create({ ...e2bOptions(world), timeoutMs: 600_000 });
  const leftS = async () => ((await sandbox.getInfo()).endAt.getTime() - Date.now()) / 1_000;
  await Sandbox.connect(sandbox.sandboxId, { ...e2bOptions(world), timeoutMs: 60_000 });
  expect(await leftS()).toBeGreaterThan(300);
  await Sandbox.connect(sandbox.sandboxId, { ...e2bOptions(world), timeoutMs: 1_800_000 });
  expect(await leftS()).toBeGreaterThan(1_200);
  await sandbox.pause();
  await Sandbox.connect(sandbox.sandboxId, { ...e2bOptions(world), timeoutMs: 60_000 });
  expect(await leftS()).toBeLessThan(300);
});

test("its timeout pauses it as its creation says, and what cannot be is refused", async () => {
  const lifecycle = { onTimeout: { action: "pause", keepMemory: false } } as const;
  const sandbox = await Sandbox.create({ ...e2bOptions(world), lifecycle });
  const id = nativeId(sandbox.sandboxId);
  await sql`update sandboxes set expires_at = now() - interval '1 s' where id = ${id}`.execute(world.db);
  await sandboxReaper(world.context, 1_000, 30).activate(never);
  expect([(await sandbox.getInfo()).state, isSynced(id)]).toEqual(["paused", true]);
  await sandbox.connect();
  expect(originOf(id)).toEqual({ kind: "paused", reboot: true });
  const both = { templateID: "base", autoPause: true, autoPauseMemory: false, autoResume: { enabled: true } };
  const refused = await world.call("POST", "/e2b/sandboxes", { body: both });
  expect([refused.status, refused.body["message"]]).toEqual([
    400,
    expect.stringContaining("resumed by request alone"),
  ]);
});

test("a pause counts as a persistent sandbox does, and is refused where none may be made", async () => {
  const persistent = () =>
    world.call("POST", "/v1/sandboxes", { body: { template: "base", mode: "persistent" } });
  const pause = (id: string) => world.call("POST", `/e2b/sandboxes/${id}/pause`, { body: {} });
  const used = async () =>
    (await world.call<Limits>("GET", "/v1/limits")).body.quotas.persistent_disk_gib.used;
  const before = await used();
  const [one, other] = [await createE2bSandbox(world), await createE2bSandbox(world)];
  const each = 2;
  await setLimits(world.db, world.orgId, [["quota_persistent_disk_gib", before + each]]);
  expect(await used()).toBe(before);
  expect((await pause(one.sandboxID)).status).toBe(204);
  expect(await used()).toBe(before + each);
  expect((await persistent()).status).toBe(403);
  for (const memory of [true, false]) {
    const refused = await world.call("POST", `/e2b/sandboxes/${other.sandboxID}/pause`, { body: { memory } });
    expect([refused.status, refused.body["message"]]).toEqual([
      429,
      expect.stringContaining("GiB of disk for persistent and paused sandboxes"),
    ]);
  }
  expect((await rowOf(nativeId(other.sandboxID)))?.status).toBe("running");
  // What runs again holds nothing there, and neither does what is gone.
  expect((await world.call("POST", `/e2b/sandboxes/${one.sandboxID}/connect`, { body: {} })).status).toBe(
    201,
  );
  expect(await used()).toBe(before);
  expect((await pause(other.sandboxID)).status).toBe(204);
  expect((await world.call("DELETE", `/e2b/sandboxes/${other.sandboxID}`)).status).toBe(204);
  expect(await used()).toBe(before);
  await setLimits(world.db, world.orgId, [["quota_persistent_disk_gib", 0]]);
  expect((await pause(one.sandboxID)).status).toBe(429);
  const paused = { templateID: "base", timeout: 60, autoPause: true };
  expect((await world.call("POST", "/e2b/sandboxes", { body: paused })).status).toBe(429);
  expect((await persistent()).status).toBe(403);
  await setLimits(world.db, world.orgId, [["quota_persistent_disk_gib", null]]);
});

test("a guest that never writes its disk out does not outlive its timeout: it is paused with its memory", async () => {
  const lifecycle = { onTimeout: { action: "pause", keepMemory: false } } as const;
  const sandbox = await Sandbox.create({ ...e2bOptions(world), lifecycle });
  const id = nativeId(sandbox.sandboxId);
  world.host.pauses.refusesSync = true;
  for (const status of ["running", "paused"]) {
    await sql`update sandboxes set expires_at = now() - interval '1 s', retry_at = now() where id = ${id}`.execute(
      world.db,
    );
    await sandboxReaper(world.context, 1_000, 30).activate(never);
    expect(await rowOf(id)).toEqual({ status, reboots: status === "running" });
  }
  world.host.pauses.refusesSync = false;
  await sandbox.connect();
  expect(originOf(id)).toEqual({ kind: "paused" });
});

test("a connection can give up the memory that a pause has kept: what it held of the disk is written first", async () => {
  const sandbox = await Sandbox.create(e2bOptions(world));
  const id = nativeId(sandbox.sandboxId);
  await sandbox.pause();
  expect(isSynced(id)).toBe(false);
  await Sandbox.connect(id, { ...e2bOptions(world), onResume: "reboot" });
  expect([isSynced(id), originOf(id)]).toEqual([true, { kind: "paused", reboot: true }]);
  // One that runs is not booted anew.
  const before = world.host.vms.get(id)?.execution_id;
  await Sandbox.connect(id, { ...e2bOptions(world), onResume: "reboot" });
  expect(world.host.vms.get(id)?.execution_id).toBe(before);
});

test("lists take several states as one parameter each, and begin with what started at the time that they name", async () => {
  const key = `states-${Date.now()}`;
  const made = await createE2bSandbox(world, { metadata: { key } });
  const { startedAt } = (await world.call<{ startedAt: string }>("GET", `/e2b/sandboxes/${made.sandboxID}`))
    .body;
  const listed = async (query: string) => {
    const path = `/e2b/v2/sandboxes?metadata=key%3D${key}&${query}`;
    const { status, body } = await world.call<{ sandboxID: string }[]>("GET", path);
    return [status, Array.isArray(body) ? body.map(({ sandboxID }) => sandboxID) : body];
  };
  expect(await listed("state=running&state=paused")).toEqual([200, [made.sandboxID]]);
  expect(await listed("state=running,paused")).toEqual([200, [made.sandboxID]]);
  expect(await listed("state=paused&state=paused")).toEqual([200, []]);
  expect((await listed("state=running&state=asleep"))[0]).toBe(400);
  expect(await listed(`startedAfter=${startedAt}`)).toEqual([200, [made.sandboxID]]);
  const later = new Date(Date.parse(startedAt) + 1).toISOString();
  expect(await listed(`startedAfter=${later}`)).toEqual([200, []]);
});

test("lists have the oldest first where that is asked for, also over pages", async () => {
  const key = `list-${Date.now()}`;
  const ids: string[] = [];
  for (let count = 0; count < 3; count++)
    ids.push((await createE2bSandbox(world, { metadata: { key } })).sandboxID);
  const listed = async (order: string) => {
    const found: string[] = [];
    let next = "";
    do {
      const query = `metadata=key%3D${key}&order=${order}&limit=2${next === "" ? "" : `&nextToken=${next}`}`;
      const page = await world.call<{ sandboxID: string }[]>("GET", `/e2b/v2/sandboxes?${query}`);
      found.push(...page.body.map(({ sandboxID }) => sandboxID));
      next = page.headers.get("x-next-token") ?? "";
    } while (next !== "");
    return found;
  };
  expect(await listed("asc")).toEqual(ids);
  expect(await listed("desc")).toEqual(ids.toReversed());
  expect((await world.call("GET", "/e2b/v2/sandboxes?order=up")).status).toBe(400);
});
