// What a host does with the folders that it finds when it starts. A disk is never taken because a record is not understood.

import { access, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { NO_EGRESS } from "../src/network/egress-loader.ts";
import { saveBackingFiles } from "../src/vm/disk/backing-files.ts";
import type { VmEngine } from "../src/vm/engine/engine.ts";
import { allBackingFiles } from "../src/vm/engine/all-backing-files.ts";
import { type VmRecord } from "../src/vm/record/record.ts";
import { identityOf, leave, ownerOf, recordIn } from "./support/records.ts";
import { idle, EngineStub, noMoves } from "./support/stub-engine.ts";

const machine = { command: null, keeps_disk: true, stopping: false } as const;
const below = { root_image: "/a/images/base.ext4", frozen_disk: "/a/frozen/base-1/disk.qcow2" };
const spec = (disk: "new" | "kept") => ({
  ...{ execution_id: "exe_2", template: "base", size: "shared-cpu-1x", hostname: "a", env: {} },
  ...{ egress: NO_EGRESS, egress_version: 1, machine: { command: null, disk } },
});

let state: string;
let vms: string;
let engine: VmEngine;
let room: EngineStub;

beforeEach(async () => {
  state = await mkdtemp("/tmp/skerry-unit-adoption-");
  vms = join(state, "vms");
  await mkdir(vms);
  room = new EngineStub(1_899_300_000);
  engine = room.engineIn(vms);
});
afterEach(async () => {
  engine.close();
  // What an engine has begun to give back may still be at it.
  await rm(state, { recursive: true, force: true, maxRetries: 50 });
});

/** A machine that has stopped, with something on its disk. */
async function stoppedMachine(): Promise<VmRecord> {
  const record = await leave(
    recordIn(vms, "mch_a", { status: "stopped", process: undefined, machine, below }),
  );
  await writeFile(join(record.folder, "disk.qcow2"), "data");
  return record;
}

type Damage = (record: VmRecord) => Promise<unknown>;
const write =
  (text: string | ((record: VmRecord) => object)): Damage =>
  (record) =>
    writeFile(
      join(record.folder, "vm.json"),
      typeof text === "string" ? text : JSON.stringify({ ...record, ...text(record) }),
    );

const records: readonly (readonly [what: string, damage: Damage, cause: string])[] = [
  ["is absent", ({ folder }) => rm(join(folder, "vm.json")), "disk_unreadable"],
  ["is empty", write(""), "disk_unreadable"],
  ["is not JSON", write("\0\0\0"), "disk_unreadable"],
  ["is another VM's", write(() => ({ id: "mch_b" })), "disk_unreadable"],
  ["lacks a field", write(() => ({ slot: undefined })), "disk_unreadable"],
  ["has an unknown field", write(() => ({ volumes: [] })), "not_adopted"],
  [
    "has a policy with an unknown field",
    write(({ egress }) => ({ egress: { ...egress, domains: [] } })),
    "not_adopted",
  ],
  ["is of a newer version", write(() => ({ format: 99, status: "paused" })), "not_adopted"],
  [
    "cannot be read",
    async ({ folder }) => {
      await rm(join(folder, "vm.json"));
      await symlink("vm.json", join(folder, "vm.json"));
    },
    "not_adopted",
  ],
];

test.each(records)(
  "the disk of a machine whose record %s stays, and the machine is listed with the reason",
  async (_what, damage, cause) => {
    const { folder } = await stoppedMachine();
    const before = await readdir(folder);
    await damage(await stopped());
    expect(await engine.adopt(noMoves)).toMatchObject({ unreadable: 1, removed: 0 });
    expect(engine.get("mch_a")).toMatchObject({ status: "gone", cause });
    expect(engine.get("mch_a").reason).toMatch(/vm\.json/);
    expect(await readFile(join(folder, "disk.qcow2"), "utf8")).toBe("data");
    expect(before).toContain("disk.qcow2");
    // One whose disk is sound must not be told to give it up.
    const remediation = expect.stringMatching(
      cause === "not_adopted" ? /^The disk is kept/ : /recover-disk mch_a/,
    );
    const refused = { code: "disk_unreadable", remediation };
    await expect(engine.put("mch_a", spec("kept"))).rejects.toMatchObject(refused);
    await expect(engine.stop("mch_a", { execution_id: "exe_1", grace_ms: 0 })).rejects.toMatchObject(refused);
    await expect(engine.use("mch_a", "exe_1")).rejects.toMatchObject({ code: "vm_not_running" });
    expect(await readFile(join(folder, "disk.qcow2"), "utf8")).toBe("data");
  },
);

async function stopped(): Promise<VmRecord> {
  return recordIn(vms, "mch_a", { status: "stopped", process: undefined, machine, below });
}

test.each(records)(
  "a machine whose record %s goes when it is destroyed, disk and all",
  async (_what, damage) => {
    const { folder } = await stoppedMachine();
    await damage(await stopped());
    await engine.adopt(noMoves);
    await engine.destroy("mch_a", "exe_1");
    expect(engine.list()).toEqual([]);
    await expect(access(folder)).rejects.toThrow("ENOENT");
  },
);

test.each(records.filter(([what]) => what !== "is absent"))(
  "a sandbox whose record %s is listed, so that control can say what becomes of it, and goes when it is destroyed",
  async (_what, damage, cause) => {
    const { folder } = await leave(recordIn(vms, "sbx_a", { process: undefined }));
    await damage(recordIn(vms, "sbx_a", { process: undefined }));
    await engine.adopt(noMoves);
    expect(engine.get("sbx_a")).toMatchObject({ status: "gone", cause });
    await engine.destroy("sbx_a", "exe_1");
    await expect(access(folder)).rejects.toThrow("ENOENT");
  },
);

test("a folder without a record is removed, but for a machine's that has a disk and for what is no VM's", async () => {
  for (const name of ["sbx_a", "mch_b", "mch_c", "lost+found", "warm_d"]) await mkdir(join(vms, name));
  await writeFile(join(vms, "mch_c/disk.qcow2"), "data");
  expect(await engine.adopt(noMoves)).toMatchObject({ unreadable: 1, removed: 3 });
  expect((await readdir(vms)).toSorted()).toEqual(["lost+found", "mch_c"]);
});

test("a folder of VMs that cannot be listed keeps the host from starting, instead of having none", async () => {
  await rm(vms, { recursive: true });
  await writeFile(vms, "");
  await expect(allBackingFiles(vms, ownerOf(vms))).rejects.toThrow("ENOTDIR");
});

test("while it is not known what a disk stands on, nothing counts as unneeded", async () => {
  const { folder } = await stoppedMachine();
  const owner = ownerOf(vms);
  expect(await allBackingFiles(vms, owner)).toEqual(
    new Set([join(owner.places.images, "base.ext4"), join(owner.places.frozen, "base-1/disk.qcow2")]),
  );
  await writeFile(join(folder, "vm.json"), "");
  expect(await allBackingFiles(vms, owner)).toBeUndefined();
  await saveBackingFiles(folder, below);
  expect((await allBackingFiles(vms, owner))?.size).toBe(2);
  await rm(join(folder, "below.json"));
  await rm(join(folder, "disk.qcow2"));
  expect(await allBackingFiles(vms, owner)).toEqual(new Set());
});

test("a VM in which a template is built is found again, and what it stands on and has sealed stays, wherever the state folder is", async () => {
  const layer = { digest: "1".repeat(64), bytes: 1 };
  const build = {
    image: { layers: [layer], disk_gib: 1 },
    target: { root_image: "/a/layers/root.layer", layers: ["/a/layers/above.layer"] },
    ...{ disk_gib: 1, seals: [{ id: "seal_1", layer }, { id: "seal_2" }] },
  };
  const kept = { ...below, layers: ["/a/layers/template.layer"], disk_gib: 1 };
  await leave(recordIn(vms, "bld_a", { build, below: kept, status: "gone", process: undefined }));
  expect(await engine.adopt(noMoves)).toMatchObject({ unreadable: 0, removed: 0 });
  expect(engine.get("bld_a")).toMatchObject({ status: "gone" });
  const { places, ...owner } = ownerOf(vms);
  const names = ["root", "above", "template", layer.digest].map((name) =>
    join(places.layers, `${name}.layer`),
  );
  expect(await allBackingFiles(vms, { ...owner, places })).toEqual(
    new Set([join(places.images, "base.ext4"), join(places.frozen, "base-1/disk.qcow2"), ...names]),
  );
});

test("a damaged record is written anew from what lies beside the disk, and the damaged one is kept", async () => {
  const record = await stoppedMachine();
  await saveBackingFiles(record.folder, below);
  await writeFile(join(record.folder, "vm.json"), "garbage");
  await engine.adopt(noMoves);
  expect(await engine.recover("mch_a")).toMatchObject({ status: "gone", reason: "its record was recovered" });
  expect(await readFile(join(record.folder, "vm.json.damaged"), "utf8")).toBe("garbage");
  const again = room.engineIn(vms);
  await again.adopt(noMoves);
  expect(again.get("mch_a")).toMatchObject({ status: "gone", reason: "its record was recovered" });
  expect((await allBackingFiles(vms, ownerOf(vms)))?.size).toBe(2);
  expect(await engine.recover("mch_a")).toMatchObject({ status: "gone" });
});

test("a machine that is destroyed while its record is written anew is gone, and so is one that was recovered", async () => {
  for (const isLater of [false, true]) {
    const { folder, execution_id } = await stoppedMachine();
    await saveBackingFiles(folder, below);
    await writeFile(join(folder, "vm.json"), "garbage");
    const host = room.engineIn(vms);
    await host.adopt(noMoves);
    const recovered = host.recover("mch_a");
    if (isLater) await recovered;
    const [outcome] = await Promise.allSettled([recovered, host.destroy("mch_a", execution_id)]);
    expect(outcome.status).toBe("fulfilled");
    expect(host.has("mch_a")).toBe(false);
    await expect(readFile(join(folder, "vm.json"))).rejects.toThrow("ENOENT");
  }
});

test("a record is not written anew where nothing says what the disk stands on, or where a newer version wrote it", async () => {
  const record = await stoppedMachine();
  await writeFile(join(record.folder, "vm.json"), "");
  await engine.adopt(noMoves);
  await expect(engine.recover("mch_a")).rejects.toThrow("what it stands on, is not known");
  await saveBackingFiles(record.folder, below);
  await write(() => ({ format: 99 }))(record);
  await expect(engine.recover("mch_a")).rejects.toThrow("written by a newer version");
});

test("what a disk stands on is written down again where a host was killed in the middle of that", async () => {
  const { folder } = await stoppedMachine();
  await writeFile(join(folder, "below.json"), "");
  await engine.adopt(noMoves);
  await expect.poll(() => readFile(join(folder, "below.json"), "utf8")).toMatch(/base\.ext4.*disk\.qcow2/);
});

test("a state folder that was moved has its machines, on the files where they are now", async () => {
  const record = await stoppedMachine();
  const moved = `${state}-moved`;
  await rename(state, moved);
  try {
    const there = room.engineIn(join(moved, "vms"));
    expect(await there.adopt(noMoves)).toMatchObject({ ended: 1, unreadable: 0, removed: 0 });
    expect(there.get("mch_a").status).toBe("stopped");
    expect(dirname(there.consoleFile("mch_a"))).toBe(join(moved, "vms/mch_a"));
    expect(await readFile(join(moved, "vms/mch_a/disk.qcow2"), "utf8")).toBe("data");
    expect(record.folder).not.toContain("moved");
  } finally {
    await rename(moved, state);
  }
});

test("a copy of a state folder does not touch what runs in the original", async () => {
  const qemu = await idle();
  try {
    const original = recordIn(vms, "mch_a", {
      ...{ machine, below, process: await identityOf(qemu), name: "skerry-ffffff:mch_a:exe_1" },
    });
    await leave(original);
    await engine.adopt(noMoves);
    await expect.poll(() => engine.get("mch_a").status).toBe("gone");
    expect(qemu.exitCode ?? qemu.signalCode).toBeNull();
  } finally {
    qemu.kill("SIGKILL");
  }
});

test.each([["that is understood"], ["that is not"]])(
  "two requests for a new disk make one VM, after a record %s",
  async (which) => {
    const { folder } = await stoppedMachine();
    if (which === "that is not") await writeFile(join(folder, "vm.json"), "");
    // So many files that they are not gone at once.
    await mkdir(join(folder, "more"));
    await Promise.all(Array.from({ length: 2_000 }, (_, n) => writeFile(join(folder, `more/${n}`), "")));
    await engine.adopt(noMoves);
    // Its template takes long, too.
    for (const put of [engine.put("mch_a", spec("new")), engine.put("mch_a", spec("new"))])
      put.catch(() => undefined);
    await expect.poll(() => room.begun).toBe(1);
    await sleep(300);
    expect(room.begun).toBe(1);
    expect(engine.list()).toMatchObject([{ id: "mch_a", execution_id: "exe_2", status: "creating" }]);
  },
);
