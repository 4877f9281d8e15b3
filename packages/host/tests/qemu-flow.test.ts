// The life of a QEMU from its start to its move, as VMs have it: command line, user, filters, device, memory file, saved state. With KVM
// wherever `/dev/kvm` opens, also where no Linux boots on it: the guests are a few instructions long.

import { once } from "node:events";
import {
  chmod,
  chown,
  mkdtemp,
  open,
  readFile,
  readlink,
  readdir,
  rm,
  stat,
  truncate,
  writeFile,
} from "node:fs/promises";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findSize, type Size } from "@skerry/contract/sizes";
import { emptyQcow2, type FrozenTemplate } from "../src/templates/frozen.ts";
import { KVM_DEVICE } from "../src/vm/qemu/accelerator.ts";
import { saveState } from "../src/vm/qemu/device-state.ts";
import { arrived, awaitArrival, mirrorDisk, moveSockets, sendMemory } from "../src/vm/qemu/migration.ts";
import { findByName, killProcess } from "../src/vm/qemu/process.ts";
import { emptyMemory } from "../src/vm/qemu/empty-memory.ts";
import { vmPaths, type Accelerator, type Machine } from "../src/vm/qemu/qemu-arguments.ts";
import { runState, type Qmp } from "../src/vm/qemu/qmp.ts";
import { restoreClone } from "../src/vm/start/clone.ts";
import { ProbeFailure, probeGuest } from "../src/vm/start/probe-guest.ts";
import {
  makeFolder,
  releaseResources,
  startQemu,
  uidOf,
  uidsOf,
  type HostResources,
  type VmResources,
} from "../src/vm/record/vm-resources.ts";
import { buildNative, type Native } from "./support/native.ts";
import { instanceOf, testAccelerator, testResources } from "./support/resources.ts";
import { COUNTER_AT, LOAD_AT, counting, lost, resetting, tinyKernel } from "./support/tiny-guest.ts";

const NAME = "q";
const DEADLINE_MS = 60_000;
const NEVER = new AbortController().signal;

let folder: string;
let native: Native;
let resources: HostResources;
let accelerator: Accelerator;
let size: Size;
const started: VmResources[] = [];
let probing: Promise<unknown> = Promise.resolve();

beforeAll(async () => {
  folder = await mkdtemp("/tmp/skerry-unit-flow-");
  await chmod(folder, 0o711);
  native = await buildNative();
  // QEMU's users preload from there.
  await chmod(native.folder, 0o711);
  resources = await testResources(NAME, native);
  accelerator = await testAccelerator();
  const found = findSize("shared-cpu-1x");
  if (found === undefined) throw new Error("there is no such size");
  size = found;
});

afterAll(async () => {
  // Also those that a test which has failed left.
  for (const { identity } of await findByName(`${instanceOf(NAME)}:`, uidsOf(resources)))
    await killProcess(identity);
  await probing;
  for (const record of started.reverse()) await releaseResources(resources, record);
  await resources.slots.drain();
  await resources.cgroups.remove(".");
  await native[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

/** What a VM's folder and slot are; released when the tests have ended. */
async function newRecord(name: string): Promise<VmResources> {
  const record = {
    name: `${instanceOf(NAME)}:${name}:x`,
    folder: join(folder, name),
    slot: resources.slots.take().number,
    process: undefined,
  };
  started.push(record);
  await makeFolder(record.folder);
  return record;
}

function machine(): Machine {
  const tscKhz = accelerator === "tcg" ? 2_000_000 : undefined;
  return { accelerator, vcpus: size.vcpus, memoryMib: size.memory_mib, tscKhz };
}

async function bootFile(name: string, content: Buffer): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, content, { mode: 0o444 });
  return file;
}

/** The guest's own number, asked of QEMU. */
async function counter(qmp: Qmp): Promise<number> {
  const line = await qmp.execute("human-monitor-command", { "command-line": `xp /1xw ${COUNTER_AT}` });
  return Number(/: (0x[0-9a-f]+)/.exec(String(line))?.[1]);
}

async function countsOn(qmp: Qmp, from: number): Promise<void> {
  const end = Date.now() + DEADLINE_MS;
  // It may have gone round once.
  while ((await counter(qmp)) === from) {
    if (Date.now() > end) throw new Error("the guest does not count");
    await sleep(10);
  }
}

interface Counting {
  readonly record: VmResources;
  readonly qmp: Qmp;
  readonly frozen: FrozenTemplate;
}

/** As `ensureFrozen` does it, for a guest without an agent. */
async function startTemplate(name: string): Promise<Counting> {
  const record = await newRecord(name);
  const uid = uidOf(resources, resources.slots.slot(record.slot));
  const file = (path: string): string => join(record.folder, path);
  const rootImage = await bootFile("root", Buffer.alloc(1024 * 1024));
  const boot = {
    kernel: await bootFile("kernel", tinyKernel(counting)),
    initramfs: await bootFile("initramfs", Buffer.alloc(512)),
  };
  for (const disk of [vmPaths.disk, "overlay"]) await emptyQcow2(file(disk), 1);
  await writeFile(file("memory"), "", { mode: 0o600 });
  await truncate(file("memory"), size.memory_mib * 1024 * 1024);
  for (const path of [vmPaths.disk, "memory"]) await chown(file(path), uid, uid);
  const { qmp, process } = await startQemu(resources, {
    ...{ record, size, machine: machine(), diskGib: 1, isMachine: false, state: undefined },
    files: { ...boot, memory: file("memory"), rootImage, frozenDisk: undefined },
    purpose: "template",
  });
  await expectConfined(process.pid, uid);
  await qmp.execute("cont");
  await countsOn(qmp, 0);
  const files = { memory: file("memory"), state: file("state"), disk: file(vmPaths.disk) };
  const startedWith = { accelerator, qemu_version: "", cpu: "", tsc_khz: null };
  const { folder: where } = record;
  const disks = { overlay: file("overlay"), rootImage, layers: [], diskGib: 1 };
  const frozen = { folder: where, ...files, ...disks, machine: machine(), startedWith };
  return { record, qmp, frozen };
}

async function freeze(): Promise<{ frozen: FrozenTemplate; counted: number }> {
  const { record, qmp, frozen } = await startTemplate("template");
  const uid = uidOf(resources, resources.slots.slot(record.slot));
  await saveState(qmp, { folder: record.folder, uid, deadlineMs: DEADLINE_MS });
  const counted = await counter(qmp);
  qmp.close();
  const { memory, state, overlay, disk } = frozen;
  for (const path of [memory, state, overlay, disk]) await chmod(path, 0o444);
  return { counted, frozen };
}

async function expectConfined(pid: number, uid: number): Promise<void> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  expect(status).toMatch(new RegExp(`^Uid:(\t${uid}){4}$`, "m"));
  expect(status).toMatch(/^Seccomp:\t2$/m);
  if (accelerator === "tcg") return;
  const files = await Promise.all(
    (await readdir(`/proc/${pid}/fd`)).map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => "")),
  );
  expect(files.filter((target) => target.startsWith("anon_inode:kvm-"))).not.toEqual([]);
  const { uid: owner } = await stat(KVM_DEVICE);
  expect(owner).toBe(0);
}

/** QEMU's own socket in its folder leads to the other QEMU's, as relays between hosts do. */
async function relay(stream: keyof typeof moveSockets, from: VmResources, to: VmResources) {
  const path = join(from.folder, moveSockets[stream]);
  const server = createServer((own) => {
    const other = connect(join(to.folder, moveSockets[stream]));
    own.on("error", () => undefined).pipe(other);
    other.on("error", () => undefined).pipe(own);
  });
  server.listen(path);
  await once(server, "listening");
  const uid = uidOf(resources, resources.slots.slot(from.slot));
  await chown(path, uid, uid);
  return { [Symbol.dispose]: () => void server.close() };
}

test("a guest is frozen, cloned, stopped, moved to another QEMU, and goes on counting from where it stood each time", async () => {
  const { frozen, counted } = await freeze();
  const boot = { kernel: "", initramfs: "", kernelVersion: "", digest: "" };
  const record = await newRecord("clone");
  const made = { resources, record, size, frozen, boot, isMachine: false, signal: NEVER };
  const { qmp } = await restoreClone(made, async ({ process }) => {
    await expectConfined(process.pid, uidOf(resources, resources.slots.slot(record.slot)));
  });
  expect(await runState(qmp)).toBe("paused");
  expect(await counter(qmp)).toBe(counted);
  await qmp.execute("cont");
  await countsOn(qmp, counted);
  await qmp.execute("stop");
  const stood = await counter(qmp);
  await sleep(100);
  expect(await counter(qmp)).toBe(stood);
  await qmp.execute("cont");
  await countsOn(qmp, stood);
  // The clone's memory is its own.
  const template = await readFile(frozen.memory);
  expect(template.readUInt32LE(COUNTER_AT)).toBe(counted);

  const target = await newRecord("arrival");
  const targetUid = uidOf(resources, resources.slots.slot(target.slot));
  await emptyQcow2(join(target.folder, vmPaths.disk), 1);
  const memory = await emptyMemory(resources.emptyMemoryFolder, size.memory_mib);
  const arrival = await startQemu(resources, {
    ...{ record: target, size, machine: machine(), diskGib: 1, isMachine: false, state: undefined },
    files: { kernel: "", initramfs: "", memory, rootImage: frozen.rootImage, frozenDisk: frozen.disk },
    purpose: "arrival",
  });
  await chown(target.folder, targetUid, targetUid);
  await awaitArrival(arrival.qmp);
  await chown(target.folder, 0, 0);
  const signal = AbortSignal.timeout(DEADLINE_MS);
  using _disk = await relay("disk", record, target);
  await mirrorDisk(qmp, signal);
  using _memory = await relay("memory", record, target);
  await Promise.all([arrived(arrival.qmp, signal), sendMemory(qmp, signal)]);
  expect(await runState(qmp)).toBe("postmigrate");
  const sent = await counter(qmp);
  expect(await counter(arrival.qmp)).toBe(sent);
  await arrival.qmp.execute("cont");
  await countsOn(arrival.qmp, sent);
  arrival.qmp.close();
  qmp.close();
});

test("a guest that KVM gives up while it runs is known as that", async () => {
  // An emulator finds zeros there, and executes them.
  if (accelerator === "tcg") return;
  const { qmp, frozen } = await startTemplate("lost");
  await using memory = await open(frozen.memory, "r+");
  await memory.write(lost, 0, lost.length, LOAD_AT + counting.length - 2);
  await qmp.givenUp;
  expect(await runState(qmp)).toBe("internal-error");
  qmp.close();
});

const failures: readonly (readonly [string, Buffer, Partial<HostResources>, RegExp])[] = [
  ["QEMU does not start", counting, { qemu: "/bin/false" }, /: QEMU did not start: .*exec \/bin\/false/],
  ["its kernel does not boot", counting, {}, /: its kernel did not boot: the guest's agent does not answer$/],
];

test.each(failures)("where %s the probe says so", async (_what, code, changes, words) => {
  const failure = await probe(code, changes);
  expect(failure).toBeInstanceOf(ProbeFailure);
  expect(failure.message).toMatch(words);
});

test("a guest that has ended or that KVM has given up is not waited for, and the probe has QEMU's last words", async () => {
  const deadlines = { ...resources.deadlines, bootMs: 100 * DEADLINE_MS };
  const { message } = await probe(resetting, { deadlines });
  expect(message).toMatch(
    /: its kernel did not boot: (the guest's channel was closed|the guest's QEMU has ended|KVM could not execute)/,
  );
  if (accelerator === "tcg") return;
  expect((await probe(lost, { deadlines })).message).toContain(
    "its kernel did not boot: KVM could not execute the guest's code, and QEMU has stopped it; QEMU said: KVM internal error. Suberror: 1",
  );
});

async function probe(code: Buffer, changes: Partial<HostResources>): Promise<Error> {
  const kernel = await bootFile(`kernel-${code.length}`, tinyKernel(code));
  const initramfs = await bootFile("initramfs", Buffer.alloc(512));
  const deadlines = { ...resources.deadlines, bootMs: 1_500 };
  const where = join(folder, "probe");
  const trying = probeGuest({
    resources: { ...resources, deadlines, ...changes },
    boot: { kernel, initramfs, kernelVersion: "", digest: "" },
    ...{ instance: instanceOf(NAME), folder: where, machine: machine() },
  }).then(
    () => new Error("it ran"),
    (error: Error) => error,
  );
  probing = trying;
  const failure = await trying;
  // Nothing of it is left.
  await expect(stat(where)).rejects.toThrow("ENOENT");
  return failure;
}
