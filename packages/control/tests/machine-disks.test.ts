// Whose disk a machine starts from: its own, or a new one where its owner has said that the old one does not matter. Never by itself.

import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Limits } from "@skerry/contract/limits/limits-report";
import type { Machine } from "@skerry/contract/machines/machine";
import { setLimits } from "../src/limits/organization-limits.ts";
import { MachineUpkeep } from "./support/machine-upkeep.ts";
import { builtTemplate } from "./support/builds.ts";
import { TwoHosts } from "./support/two-hosts.ts";

let two: TwoHosts;
let upkeep: MachineUpkeep;
/** On the second host. */
let id: string;
beforeEach(async () => {
  two = await TwoHosts.open();
  upkeep = new MachineUpkeep(two.world);
  for (id = ""; !two.second.disks.has(id);) ({ id } = await two.world.createMachine());
});
afterEach(() => two[Symbol.asyncDispose]());

function call(act: string, body?: object) {
  return two.world.call<Machine & { code?: string; remediation?: string }>(
    "POST",
    `/v1/machines/${id}/${act}`,
    body === undefined ? {} : { body },
  );
}

async function loseHost(): Promise<void> {
  await two.second.stop();
  await two.silence();
  await two.judge();
}

async function hostReturns(): Promise<void> {
  await two.second.start();
  await two.ask();
  for (let more = true; more;) ({ more } = await two.cleanUp());
}

test("a machine of a lost host waits for the host and says so; nothing starts it elsewhere with an empty disk", async () => {
  await loseHost();
  await upkeep.startWaiting();
  expect(await upkeep.get(id)).toMatchObject({
    status: "failed",
    reason: "host_offline: its host second is offline; it waits for the host, which has its disk",
    restart_at: null,
  });
  expect(two.first.vms.has(id)).toBe(false);
  const refused = await call("start");
  expect([refused.status, refused.body.code]).toEqual([503, "host_unavailable"]);
  expect(refused.body.remediation).toContain("start the machine with a new disk");
  expect(two.first.vms.has(id)).toBe(false);
});

test("a machine that its host came back with runs on, under the life that it had", async () => {
  const life = two.second.vms.get(id)?.execution_id;
  await loseHost();
  await hostReturns();
  expect(await upkeep.get(id)).toMatchObject({ status: "running", restarts: 0 });
  expect(two.second.vms.get(id)?.execution_id).toBe(life);
});

test("a machine of an organization's own template starts from its disk on a host without the template, and a new disk needs the template", async () => {
  const templateId = String((await builtTemplate(two.world)).template_id);
  await sql`delete from template_hosts`.execute(two.world.db);
  await sql`update machines set template = ${templateId} where id = ${id}`.execute(two.world.db);
  const disk = two.second.disks.get(id);
  expect((await call("stop")).status).toBe(200);
  const refused = await call("start", { new_disk: true });
  expect([refused.status, refused.body.code]).toEqual([409, "template_lost"]);
  expect((await call("start")).status).toBe(200);
  expect(two.second.disks.get(id)).toBe(disk);
});

test("a machine that ended while its host was away is started again by its policy, from its own disk", async () => {
  const disk = two.second.disks.get(id);
  await loseHost();
  two.second.end(id, "the microVM ended while its host was down", { cause: "qemu_ended" });
  await hostReturns();
  expect((await upkeep.get(id)).reason).toBe("the microVM ended while its host was down");
  await upkeep.allDue();
  await upkeep.startWaiting();
  expect(await upkeep.get(id)).toMatchObject({ status: "running", restarts: 1 });
  expect(two.second.vms.get(id)?.spec.machine?.disk).toBe("kept");
  expect(two.second.disks.get(id)).toBe(disk);
});

test("a machine whose policy is not to be started again stays failed when its host is back", async () => {
  await upkeep.set(id, "restart_policy = 'no', restart_max_retries = null");
  await loseHost();
  two.second.end(id, "it ended");
  await hostReturns();
  expect(await upkeep.get(id)).toMatchObject({ status: "failed", reason: "it ended", restart_at: null });
});

test("a machine whose disk is gone fails with that reason, is not tried again, and starts with a new disk only where its owner says so", async () => {
  await call("stop");
  two.second.vms.delete(id);
  two.second.disks.delete(id);
  const refused = await call("start");
  expect([refused.status, refused.body.code]).toEqual([409, "disk_gone"]);
  const failed = await upkeep.get(id);
  expect(failed).toMatchObject({ status: "failed", restart_at: null });
  expect(failed.reason).toMatch(/^disk_gone: could not start: /);
  const started = await call("start", { new_disk: true });
  expect([started.status, started.body.status]).toEqual([200, "running"]);
  expect(two.second.vms.get(id)?.spec.machine?.disk).toBe("new");
});

test("a machine whose host comes back without its disk has failed with that reason", async () => {
  await loseHost();
  two.second.vms.delete(id);
  two.second.disks.delete(id);
  await hostReturns();
  expect(await upkeep.get(id)).toMatchObject({
    status: "failed",
    reason: "disk_gone: its host came back without its disk",
    restart_at: null,
  });
});

test("with a new disk a machine starts elsewhere while its host is away, and the old disk goes once it runs there", async () => {
  await loseHost();
  const { body } = await call("start", { new_disk: true });
  expect(body).toMatchObject({
    status: "running",
    reason: "its host was lost, so it was placed on another one, with a new disk",
  });
  expect(two.first.vms.get(id)?.spec.machine?.disk).toBe("new");
  await hostReturns();
  expect([two.first.disks.has(id), two.second.disks.has(id)]).toEqual([true, false]);
});

test("a new disk is refused while the machine runs: its own is in use", async () => {
  const { status, body } = await call("start", { new_disk: true });
  expect([status, body.code]).toEqual([429, "machine_busy"]);
  expect((await call("start", { new_disc: true })).body.code).toBe("unknown_field");
  expect((await call("stop", { new_disk: true })).body.code).toBe("unknown_field");
});

test("a machine whose record its host does not understand has failed with the reason, keeps its disk, and is not tried again", async () => {
  const vm = two.second.vms.get(id);
  if (vm === undefined) throw new Error("no VM");
  const unread = {
    ...vm,
    status: "gone",
    execution_id: "unknown",
    reason: "vm.json holds no record",
  } as const;
  two.second.vms.set(id, { ...unread, cause: "disk_unreadable" });
  await two.cleanUp();
  expect(await upkeep.get(id)).toMatchObject({
    status: "failed",
    reason: "disk_unreadable: vm.json holds no record",
    restart_at: null,
  });
  await two.cleanUp();
  expect(two.second.disks.has(id)).toBe(true);
});

test("a machine that a later version of its host has written down runs again when that version is back", async () => {
  const vm = two.second.vms.get(id);
  if (vm === undefined) throw new Error("no VM");
  two.second.vms.set(id, {
    ...vm,
    status: "gone",
    execution_id: "unknown",
    reason: "newer",
    cause: "not_adopted",
  });
  await two.cleanUp();
  await two.cleanUp();
  expect(await upkeep.get(id)).toMatchObject({ status: "failed", reason: "disk_unreadable: newer" });
  two.second.vms.set(id, vm);
  await two.cleanUp();
  expect((await upkeep.get(id)).status).toBe("running");
});

test("the disk of a machine that the database does not know stays, as after a restore from a backup; what runs of it is stopped", async () => {
  await two.world.db.deleteFrom("machines").where("id", "=", id).execute();
  await two.cleanUp();
  await two.cleanUp();
  expect([two.second.vms.get(id)?.status, two.second.disks.has(id)]).toEqual(["stopped", true]);
  // Such a disk keeps its host neither out of use nor busy.
  await loseHost();
  await hostReturns();
  const { rows } = await sql<{
    unsettled: boolean;
  }>`select unsettled from hosts where name = 'second'`.execute(two.world.db);
  expect(rows).toEqual([{ unsettled: false }]);
});

test("a new disk that is larger than the one before takes the quota that it needs, like that of a new machine", async () => {
  const quota = async () => (await two.world.call<Limits>("GET", "/v1/limits")).body.quotas.disk_gib;
  const before = (await quota()).used;
  await call("stop");
  // Its template has been made anew meanwhile.
  for (const host of [two.first, two.second]) host.template.disk_gib = 5;
  await two.ask();
  await setLimits(two.world.db, two.world.orgId, [["quota_disk_gib", before + 3]]);
  const refused = await call("start", { new_disk: true });
  expect([refused.status, refused.body.code]).toEqual([403, "quota_exceeded"]);
  expect(refused.body).toMatchObject({
    context: { quota: "disk_gib", used: before, requested: 4, limit: before + 3 },
  });
  expect([(await upkeep.get(id)).status, (await quota()).used]).toEqual(["stopped", before]);
  // The disk that it has is no larger than it was.
  expect((await call("start")).status).toBe(200);
  await call("stop");
  await setLimits(two.world.db, two.world.orgId, [["quota_disk_gib", before + 4]]);
  expect((await call("start", { new_disk: true })).status).toBe(200);
  expect((await quota()).used).toBe(before + 4);
});

test("a machine that is placed anew because its host is lost waits where its larger disk is over the quota, and says so", async () => {
  await upkeep.set(id, "restart_disk = 'disposable'");
  two.first.template.disk_gib = 5;
  await two.ask();
  await setLimits(two.world.db, two.world.orgId, [["quota_disk_gib", 1]]);
  await loseHost();
  await upkeep.allDue();
  await upkeep.startWaiting();
  const waiting = await upkeep.get(id);
  expect(waiting.status).toBe("failed");
  expect(waiting.reason).toContain("its next start waits: The organization has");
  await setLimits(two.world.db, two.world.orgId, [["quota_disk_gib", null]]);
  await upkeep.allDue();
  await upkeep.startWaiting();
  expect((await upkeep.get(id)).status).toBe("running");
});
