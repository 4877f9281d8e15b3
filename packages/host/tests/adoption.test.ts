// What a host does with the folders that it finds when it starts. A disk is never taken because a record is not understood.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { access, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import { NO_EGRESS } from "../src/network/egress.ts";
import { saveBelow } from "../src/vm/disk/disk-below.ts";
import { VmEngine, type EngineOptions } from "../src/vm/engine.ts";
import { filesBelow, type VmRecord } from "../src/vm/record.ts";
import { FakeGuest } from "./support/fake-guest.ts";
import { FakeQemu } from "./support/fake-qemu.ts";
import { identityOf, leave, ownerOf, recordIn } from "./support/records.ts";

const moves = { arrived: () => undefined, sent: () => undefined };
const machine = { command: null, keeps_disk: true, stopping: false } as const;
const below = { root_image: "/a/images/base.ext4", frozen_disk: "/a/frozen/base-1/disk.qcow2" };
const spec = (disk: "new" | "kept") => ({
  ...{ execution_id: "exe_2", template: "base", size: "shared-cpu-1x", hostname: "a", env: {} },
  ...{ egress: NO_EGRESS, egress_version: 1, machine: { command: null, disk } },
});

let state: string;
let vms: string;
let engine: VmEngine;
let taken: number[];

beforeEach(async () => {
  state = await mkdtemp("/tmp/skerry-unit-adoption-");
  vms = join(state, "vms");
  await mkdir(vms);
  taken = [];
  engine = engineIn(vms);
});
afterEach(async () => {
  engine.close();
  // What an engine has begun to give back may still be at it.
  await rm(state, { recursive: true, force: true, maxRetries: 50 });
});

function engineIn(vmsFolder: string): VmEngine {
  const resources = {
    slots: {
      adopt: (slot: number) => void taken.push(slot),
      slot: (number: number) => ({ number }),
      close: async () => undefined,
      sweep: async () => 0,
    },
    egress: { replace: async () => undefined },
    cgroups: { remove: async () => undefined },
    firstVmUid: 1_899_300_000,
  };
  const owner = ownerOf(vmsFolder);
  const options = { resources, vmsFolder, instance: owner.instance, owner, log: pino({ level: "silent" }) };
  // The rest is for VMs that begin.
  return new VmEngine(options as unknown as EngineOptions);
}

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
    expect(await engine.adopt(moves)).toMatchObject({ unreadable: 1, removed: 0 });
    expect(engine.get("mch_a")).toMatchObject({ status: "gone", cause });
    expect(engine.get("mch_a").reason).toMatch(/vm\.json/);
    expect(await readFile(join(folder, "disk.qcow2"), "utf8")).toBe("data");
    expect(before).toContain("disk.qcow2");
    const refused = { code: "disk_unreadable" };
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
    await engine.adopt(moves);
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
    await engine.adopt(moves);
    expect(engine.get("sbx_a")).toMatchObject({ status: "gone", cause });
    await engine.destroy("sbx_a", "exe_1");
    await expect(access(folder)).rejects.toThrow("ENOENT");
  },
);

test("a folder without a record is removed, but for a machine's that has a disk and for what is no VM's", async () => {
  for (const name of ["sbx_a", "mch_b", "mch_c", "lost+found", "warm_d"]) await mkdir(join(vms, name));
  await writeFile(join(vms, "mch_c/disk.qcow2"), "data");
  expect(await engine.adopt(moves)).toMatchObject({ unreadable: 1, removed: 3 });
  expect((await readdir(vms)).toSorted()).toEqual(["lost+found", "mch_c"]);
});

test("a folder of VMs that cannot be listed keeps the host from starting, instead of having none", async () => {
  await rm(vms, { recursive: true });
  await writeFile(vms, "");
  await expect(filesBelow(vms, ownerOf(vms))).rejects.toThrow("ENOTDIR");
});

test("while it is not known what a disk stands on, nothing counts as unneeded", async () => {
  const { folder } = await stoppedMachine();
  const owner = ownerOf(vms);
  expect(await filesBelow(vms, owner)).toEqual(
    new Set([join(owner.places.images, "base.ext4"), join(owner.places.frozen, "base-1/disk.qcow2")]),
  );
  await writeFile(join(folder, "vm.json"), "");
  expect(await filesBelow(vms, owner)).toBeUndefined();
  await saveBelow(folder, below);
  expect((await filesBelow(vms, owner))?.size).toBe(2);
  await rm(join(folder, "below.json"));
  await rm(join(folder, "disk.qcow2"));
  expect(await filesBelow(vms, owner)).toEqual(new Set());
});

test("a damaged record is written anew from what lies beside the disk, and the damaged one is kept", async () => {
  const record = await stoppedMachine();
  await saveBelow(record.folder, below);
  await writeFile(join(record.folder, "vm.json"), "garbage");
  await engine.adopt(moves);
  expect(await engine.recover("mch_a")).toMatchObject({ status: "gone", reason: "its record was recovered" });
  expect(await readFile(join(record.folder, "vm.json.damaged"), "utf8")).toBe("garbage");
  const again = engineIn(vms);
  await again.adopt(moves);
  expect(again.get("mch_a")).toMatchObject({ status: "gone", reason: "its record was recovered" });
  expect((await filesBelow(vms, ownerOf(vms)))?.size).toBe(2);
  expect(await engine.recover("mch_a")).toMatchObject({ status: "gone" });
});

test("a record is not written anew where nothing says what the disk stands on, or where a newer version wrote it", async () => {
  const record = await stoppedMachine();
  await writeFile(join(record.folder, "vm.json"), "");
  await engine.adopt(moves);
  await expect(engine.recover("mch_a")).rejects.toThrow("what it stands on, is not known");
  await saveBelow(record.folder, below);
  await write(() => ({ format: 99 }))(record);
  await expect(engine.recover("mch_a")).rejects.toThrow("written by a newer version");
});

test("a state folder that was moved has its machines, on the files where they are now", async () => {
  const record = await stoppedMachine();
  const moved = `${state}-moved`;
  await rename(state, moved);
  try {
    const there = engineIn(join(moved, "vms"));
    expect(await there.adopt(moves)).toMatchObject({ ended: 1, unreadable: 0, removed: 0 });
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
    await engine.adopt(moves);
    await expect.poll(() => engine.get("mch_a").status).toBe("gone");
    expect(qemu.exitCode ?? qemu.signalCode).toBeNull();
  } finally {
    qemu.kill("SIGKILL");
  }
});

async function idle(...args: readonly string[]): Promise<ChildProcess> {
  const child = spawn("/bin/sh", ["-c", "sleep 600; :", "sh", ...args], { stdio: "ignore" });
  await once(child, "spawn");
  return child;
}

test("a QEMU that nobody's record names is ended, and one of a record that another version understands runs on with its slot", async () => {
  const uid = 1_899_300_007;
  const start = (name: string): ChildProcess =>
    spawn("/bin/sh", ["-c", "sleep 600; :", "sh", "-name", name], { stdio: "ignore", uid, gid: uid });
  await leave(recordIn(vms, "mch_a", { machine, process: undefined }));
  await write(() => ({ format: 99 }))(recordIn(vms, "mch_a"));
  const kept = start("skerry-1a2b3c:mch_a:exe_1");
  const stranger = start("skerry-1a2b3c:sbx_x:exe_1");
  // Its guest has taken it over and changed what it is called.
  const disguised = spawn("/bin/sh", ["-c", "sleep 600; :"], { stdio: "ignore", uid: uid + 1, gid: uid + 1 });
  try {
    await Promise.all([once(kept, "spawn"), once(stranger, "spawn"), once(disguised, "spawn")]);
    const ended = Promise.all([once(stranger, "exit"), once(disguised, "exit")]);
    await engine.adopt(moves);
    await ended;
    expect(kept.exitCode ?? kept.signalCode).toBeNull();
    expect(taken).toEqual([7]);
    const gone = once(kept, "exit");
    await engine.destroy("mch_a", "exe_1");
    await gone;
  } finally {
    for (const child of [kept, stranger, disguised]) child.kill("SIGKILL");
  }
});

test("a VM whose guest does not answer holds up neither the start of the host nor another VM, and its policy can be changed", async () => {
  await using guest = await FakeGuest.start();
  const qemu = await idle();
  const other = await idle();
  try {
    const silent = await leave(recordIn(vms, "sbx_a", { process: await identityOf(qemu) }));
    // Its QEMU is stopped: the socket is there, and nothing answers.
    await using _stuck = await FakeQemu.listen(join(silent.folder, "qmp.sock"), { greets: false });
    const fine = await leave(recordIn(vms, "sbx_b", { process: await identityOf(other), slot: 4 }));
    await using _control = await FakeQemu.listen(join(fine.folder, "qmp.sock"));
    await symlink(guest.path, join(fine.folder, "agent.sock"));
    expect(await engine.adopt(moves)).toMatchObject({ running: 2 });
    const use = engine.use("sbx_b", "exe_1");
    const peer = await guest.peer();
    await peer.answerHello();
    await peer.close((await peer.opened()).id, {});
    (await use)[Symbol.dispose]();
    expect(engine.get("sbx_a").status).toBe("running");
    const narrowed = engine.setEgress("sbx_a", { execution_id: "exe_1", egress: NO_EGRESS, version: 9 });
    await expect(narrowed).rejects.toThrow("report"); // the stand-in for the rules has none; the record has it
    expect(await readFile(join(silent.folder, "vm.json"), "utf8")).toContain('"egress_version":9');
    const ended = once(qemu, "exit");
    await engine.destroy("sbx_a", "exe_1");
    await ended;
    expect(engine.list().map(({ id }) => id)).toEqual(["sbx_b"]);
  } finally {
    for (const child of [qemu, other]) child.kill("SIGKILL");
  }
});

test("a machine whose stop was cut off together with its host has stopped, although nobody heard it", async () => {
  await using guest = await FakeGuest.start();
  const qemu = await idle();
  try {
    const record = await leave(
      recordIn(vms, "mch_a", { machine: { ...machine, stopping: true }, process: await identityOf(qemu) }),
    );
    await using _control = await FakeQemu.listen(join(record.folder, "qmp.sock"));
    await symlink(guest.path, join(record.folder, "agent.sock"));
    await engine.adopt(moves);
    (await guest.peer()).hangUp();
    await expect.poll(() => engine.get("mch_a")).toMatchObject({ status: "stopped", reason: null });
  } finally {
    qemu.kill("SIGKILL");
  }
});
