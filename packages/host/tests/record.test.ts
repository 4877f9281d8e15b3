import { spawn } from "node:child_process";
import { chmod, mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readBackingFiles, saveBackingFiles } from "../src/vm/disk/backing-files.ts";
import { allBackingFiles } from "../src/vm/engine/all-backing-files.ts";
import { prepareRecord, saveRecord, shown, type VmRecord } from "../src/vm/record/record.ts";
import { identityOf, ownerOf, recordIn, recordsIn } from "./support/records.ts";

let vms: string;
beforeEach(async () => {
  vms = await mkdtemp("/tmp/skerry-unit-record-");
});
afterEach(() => rm(vms, { recursive: true, force: true }));

async function record(id: string): Promise<VmRecord> {
  const wanted = recordIn(vms, id);
  await mkdir(wanted.folder, { recursive: true });
  return wanted;
}

test("a record is read back as it was saved, is root's alone, and replaces the one before", async () => {
  const saved = await record("sbx_a");
  await saveRecord({ ...saved, status: "creating", process: undefined });
  expect((await recordsIn(vms))[0]?.record).toEqual({ ...saved, status: "creating", process: undefined });
  await saveRecord(saved);
  expect(await recordsIn(vms)).toEqual([{ id: "sbx_a", folder: saved.folder, record: saved }]);
  expect(await readdir(saved.folder)).toEqual(["vm.json"]);
  expect((await stat(join(saved.folder, "vm.json"))).mode & 0o777).toBe(0o600);
});

test("of a machine also its main process, what its disk stands on and how it ended are read back", async () => {
  const exit = { exit_code: 137, signal: 9, oom_killed: true };
  const saved: VmRecord = {
    ...(await record("mch_a")),
    ...{ status: "gone", reason: "it ran out of memory", cause: "out_of_memory", exit, process: undefined },
    machine: { command: "sleep 1", keeps_disk: true, stopping: false },
    below: {
      root_image: join(ownerOf(vms).places.images, "base.ext4"),
      frozen_disk: join(ownerOf(vms).places.frozen, "base-1/disk.qcow2"),
    },
  };
  await saveRecord(saved);
  expect((await recordsIn(vms))[0]?.record).toEqual(saved);
  expect(shown(saved)).toMatchObject({ status: "gone", cause: "out_of_memory", exit });
  expect(Object.keys(shown(saved))).not.toContain("machine");
  const places = ownerOf(vms).places;
  expect([...((await allBackingFiles(vms, ownerOf(vms))) ?? [])]).toEqual([
    join(places.images, "base.ext4"),
    join(places.frozen, "base-1/disk.qcow2"),
  ]);
});

test("a policy is read back with its grants, and from a version that knew none without", async () => {
  const saved = await record("sbx_a");
  for (const egress of [saved.egress, { ...saved.egress, private_cidrs: ["10.20.0.0/16"] }]) {
    await saveRecord({ ...saved, egress });
    expect((await recordsIn(vms))[0]?.record).toEqual({ ...saved, egress });
  }
});

test("a record whose folder still has another name is that of no VM", async () => {
  const clone = await record("warm_a");
  await saveRecord(clone);
  const waking = { hostname: "a", env: { TOKEN: "secret" } };
  await prepareRecord({ ...recordIn(vms, "sbx_a"), waking }, clone.folder);
  expect(await recordsIn(vms)).toEqual([{ id: "warm_a", folder: clone.folder, record: undefined }]);
  expect((await stat(join(clone.folder, "vm.json"))).mode & 0o777).toBe(0o600);
  await rename(clone.folder, join(vms, "sbx_a"));
  expect((await recordsIn(vms))[0]?.record).toEqual({ ...recordIn(vms, "sbx_a"), waking });
});

test("VMs that run on under the path that the state folder had are not taken for ended; those of which this is a copy are none of its", async () => {
  const wanted = await record("mch_a");
  const qemu = spawn("sleep", ["60"], { cwd: wanted.folder });
  try {
    const former = { ...wanted, name: "skerry-000000:mch_a:exe_1", process: await identityOf(qemu) };
    await saveRecord(former);
    await expect(recordsIn(vms)).rejects.toThrow(/mch_a runs .* Move the state folder back/);
    const copy = join(vms, "copy");
    await mkdir(join(copy, "mch_a"), { recursive: true });
    await saveRecord({ ...former, folder: join(copy, "mch_a") });
    expect((await recordsIn(copy))[0]?.record).toMatchObject({ id: "mch_a", process: undefined });
  } finally {
    qemu.kill("SIGKILL");
  }
});

test("what a disk stands on is written down anew where the disk was full the first time", async () => {
  const { folder } = await record("mch_a");
  const { places } = ownerOf(vms);
  const below = {
    root_image: join(places.images, "a.ext4"),
    frozen_disk: join(places.frozen, "a/disk.qcow2"),
  };
  await writeFile(join(folder, "below.json"), "");
  await saveBackingFiles(folder, below);
  expect(await readBackingFiles(folder, places)).toEqual(below);
  await saveBackingFiles(folder, { ...below, root_image: "/other" });
  expect(await readBackingFiles(folder, places)).toEqual(below);
});

test("a host without a folder for VMs has none", async () => {
  expect(await recordsIn(join(vms, "not-there"))).toEqual([]);
});

test("a host that was killed while it wrote leaves the record before", async () => {
  const saved = await record("sbx_a");
  await saveRecord(saved);
  await writeFile(join(saved.folder, "vm.json.part"), '{"id":"sbx_a","status":"go');
  expect((await recordsIn(vms))[0]?.record).toEqual(saved);
});

test.each([
  ["nothing", ""],
  ["half a record", '{"id":"sbx_a","status":"runn'],
  ["zeros", "\0".repeat(300)],
  ["null", "null"],
  ["a list", "[]"],
  ["another VM's record", { id: "sbx_b" }],
  ["a record without a slot", { slot: undefined }],
  ["a record with a slot that is no number", { slot: "3" }],
  ["a record with a status of no known kind", { status: "dreaming" }],
  ["a record with half a process", { process: { pid: 1 } }],
  ["a record with a process group in place of a process", { process: { pid: -1, startTicks: 1 } }],
  ["a record without a folder", { folder: undefined }],
  ["a record without a policy", { egress: undefined }],
  ["a record with half a policy", { egress: { mode: "allow_all" } }],
  ["a record of a waking without an environment", { waking: { hostname: "a" } }],
  ["a record that does not count its policies", { egress_version: undefined }],
])("a folder with %s in the place of its record is shown as one without", async (_what, damage) => {
  const good = await record("sbx_a");
  const text = typeof damage === "string" ? damage : JSON.stringify({ ...good, ...damage });
  await writeFile(join(good.folder, "vm.json"), text);
  expect(await recordsIn(vms)).toEqual([{ id: "sbx_a", folder: good.folder, record: undefined }]);
});

test("a record that cannot be read does not hide the others", async () => {
  const good = await record("sbx_good");
  await saveRecord(good);
  await mkdir(join(vms, "sbx_odd/vm.json"), { recursive: true });
  await writeFile(join(vms, "stray"), "");
  await chmod(join(vms, "stray"), 0o000);
  const found = await recordsIn(vms);
  expect(found.filter((one) => one.record !== undefined).map(({ id }) => id)).toEqual(["sbx_good"]);
  expect(found).toHaveLength(3);
});

test("the host API shows of a record what its schema names, and no path or process", async () => {
  expect(Object.keys(shown(await record("sbx_a"))).sort()).toEqual(
    ["execution_id", "id", "reason", "size", "started_at", "status", "template"].sort(),
  );
});
