// A frozen template: a guest that was booted once, warmed up, stopped, and kept as files. Every sandbox of
// this template and size wakes from them. Memory and disk belong together, so neither is written to again.
//
//   memory   the guest's RAM; clones map it copy-on-write and share its pages
//   state    CPU and device state (about 66 KiB); RAM is not in it, because it was mapped shared (`x-ignore-shared`)
//   disk     qcow2 over the template's image: what the boot wrote
//   overlay  an empty qcow2, copied for each clone

import { createHash, randomBytes } from "node:crypto";
import { chmod, chown, mkdir, readdir, rename, rm, stat, truncate, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { FREEZE_WITHIN_MS, TARGET_GIB } from "@skerry/contract/host-api/templates";
import type { HostCompatibility } from "@skerry/contract/moves/host-compatibility";
import type { Size } from "@skerry/contract/sizes";
import { runCommand } from "../guest/agent.ts";
import { GuestChannel } from "../guest/channel.ts";
import { withDeadline } from "../guest/patience.ts";
import { NO_EGRESS } from "../network/egress-loader.ts";
import { runProgram } from "../system/run.ts";
import type { BackingFiles } from "../vm/disk/backing-files.ts";
import { checkDiskReserve } from "../vm/disk/disk-reserve.ts";
import { firstAnswer } from "../guest/first-answer.ts";
import {
  makeFolder,
  releaseResources,
  startQemu,
  uidOf,
  type HostResources,
} from "../vm/record/vm-resources.ts";
import { saveState, STATE_FILE } from "../vm/qemu/device-state.ts";
import { compatibilityOf, type QemuBuild } from "../vm/qemu/installed-qemu.ts";
import { kernelCommandLine, vmPaths, type Machine } from "../vm/qemu/qemu-arguments.ts";
import { lastWords, QEMU_LOG } from "../vm/qemu/qemu-log.ts";
import type { Qmp } from "../vm/qemu/qmp.ts";
import type { BootFiles } from "./boot-files.ts";
import type { TemplateDescription } from "./description.ts";

export interface FrozenTemplate {
  readonly folder: string;
  readonly memory: string;
  readonly state: string;
  readonly disk: string;
  readonly overlay: string;
  readonly rootImage: string;
  /** Between the image and the disk; none where the template is built in. */
  readonly layers: readonly string[];
  readonly diskGib: number;
  readonly machine: Machine;
  /** Its own, and that of its clones. */
  readonly startedWith: HostCompatibility;
}

export interface FreezeOptions {
  readonly resources: HostResources;
  /** Frozen templates live here, one folder each. */
  readonly folder: string;
  /** Prefix of the QEMU process' name. */
  readonly instance: string;
  readonly description: Pick<TemplateDescription, "name" | "digest" | "disk_gib" | "warm_up" | "builds">;
  readonly rootImage: string;
  readonly layers: readonly string[];
  /** What is done in the guest last. */
  readonly prepare?: (channel: GuestChannel) => Promise<void>;
  readonly boot: BootFiles;
  readonly qemu: QemuBuild;
  readonly size: Size;
  readonly machine: Machine;
}

/** Change it when what is frozen changes without any of its inputs changing. */
const FORMAT = 2;
const QEMU_IMG_DEADLINE_MS = 30_000;
const MIB = 1024 ** 2;
const GIB = 1024 ** 3;
/** Of the time for the whole, what the boot and the writing leave. */
const PREPARE_WITHIN_MS = FREEZE_WITHIN_MS - 240_000;
/** For what the boot, the warm-up and the state write. How much that is shows only when it is written; for more there is the host's reserve. */
const DISK_ALLOWANCE_BYTES = 256 * MIB;

/** In the names of folders in which a template is being frozen. */
const BUILDING = "building-";

export function isCutOffFreeze(name: string): boolean {
  return name.startsWith(BUILDING);
}

export type FreezeStep = "boot" | "hello" | "warm-up" | "start" | "freeze";

/** The template's guest could not be frozen. */
export class FreezeError extends Error {
  override readonly name = "FreezeError";
  readonly step: FreezeStep;
  /** Of QEMU's log. */
  readonly lastWords: string;
  /** The end of its guest's console. */
  readonly console: string;

  constructor(step: FreezeStep, words: { console: string; log: string }, cause: unknown) {
    const log = words.log === "" ? "" : `; QEMU said: ${words.log}`;
    const why = cause instanceof Error ? cause.message : String(cause);
    super(
      `the template's guest did not get ready (${step}: ${why}); its console ends with: ${words.console}${log}`,
      { cause },
    );
    this.step = step;
    this.lastWords = words.log;
    this.console = words.console;
  }
}

/** What the disk of a clone stands on. */
export function belowClone({ rootImage, layers, disk, diskGib }: FrozenTemplate): BackingFiles {
  return {
    ...{ root_image: rootImage, frozen_disk: disk },
    // A host of an earlier version understands the record of a clone of a built-in template.
    ...(layers.length === 0 ? {} : { layers: [...layers], disk_gib: diskGib }),
  };
}

/**
 * The frozen template, made now unless it is there. It appears whole or not at all. Throws `no_capacity` where the host's disk has no room for it,
 * and the reason of `stop`, after which nothing of it runs or is there.
 */
export async function ensureFrozen(options: FreezeOptions, stop: AbortSignal): Promise<FrozenTemplate> {
  const target = join(options.folder, await nameInUse(options));
  const frozen = filesIn(target, options);
  if (await isComplete(target)) return frozen;
  await mkdir(options.folder, { recursive: true });
  // The guest may write all of its memory.
  await checkDiskReserve(options.folder, options.machine.memoryMib * MIB + DISK_ALLOWANCE_BYTES);
  // Short: the path of a socket in it has 107 bytes, and what is left of them is for the state folder.
  const folder = join(options.folder, `${BUILDING}${randomBytes(4).toString("hex")}`);
  await makeFolder(folder);
  const slot = options.resources.slots.take();
  const record = {
    name: `${options.instance}:template:${options.description.name}:${options.size.name}:`,
    folder,
    slot: slot.number,
    process: undefined,
  };
  try {
    await makeDisk(options, join(folder, vmPaths.disk), uidOf(options.resources, slot));
    stop.throwIfAborted();
    await bootAndFreeze(options, record, stop);
    await makeOverlay(options, join(folder, "overlay"));
    stop.throwIfAborted();
    await publish(folder, target);
  } catch (error) {
    // The error of the freeze is the one to tell. The next start of the host releases what could not be released.
    await releaseResources(options.resources, record).catch(() => undefined);
    throw error;
  }
  await releaseResources(options.resources, record);
  return frozen;
}

/** A file in the folder of a frozen template that a clone did not wake from. The template stays, because disks may stand on its own. */
const DISTRUSTED = "distrusted";

/** From now on another one is made in its place, once. Whether it was trusted until now. */
export function distrust({ folder }: FrozenTemplate): Promise<boolean> {
  return writeFile(join(folder, DISTRUSTED), "", { flag: "wx" }).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "EEXIST") return false;
      throw error;
    },
  );
}

/** Of the template and its replacement, which exists where the template is distrusted. */
export function frozenNames(options: FreezeOptions): readonly [string, string] {
  return [frozenName(options), `${frozenName(options)}-again`];
}

async function nameInUse(options: FreezeOptions): Promise<string> {
  const [first, again] = frozenNames(options);
  return (await stat(join(options.folder, first, DISTRUSTED)).catch(() => undefined)) === undefined
    ? first
    : again;
}

/** Everything that the frozen state depends on is in its name. */
function frozenName(options: FreezeOptions): string {
  const { description, rootImage, layers, boot, qemu, size, machine } = options;
  const commandLine = kernelCommandLine(machine);
  const identity = JSON.stringify([
    FORMAT,
    description.digest,
    // The image below the frozen disk: above another image the disk is corrupt.
    basename(rootImage),
    ...layers.map((file) => basename(file)),
    boot.digest,
    qemu.version,
    qemu.cpu,
    size,
    machine,
    commandLine,
  ]);
  return `${description.name}-${size.name}-${createHash("sha256").update(identity).digest("hex").slice(0, 16)}`;
}

function filesIn(
  folder: string,
  { rootImage, layers, machine, description, qemu }: FreezeOptions,
): FrozenTemplate {
  const file = (name: string): string => join(folder, name);
  return {
    folder,
    memory: file("memory"),
    state: file(STATE_FILE),
    disk: file(vmPaths.disk),
    overlay: file("overlay"),
    rootImage,
    layers,
    diskGib: description.disk_gib,
    machine,
    startedWith: compatibilityOf(qemu),
  };
}

async function isComplete(folder: string): Promise<boolean> {
  return (await readdir(folder).catch(() => [] as string[])).includes(STATE_FILE);
}

async function makeDisk(options: FreezeOptions, disk: string, uid: number): Promise<void> {
  await emptyQcow2(disk, options.description.disk_gib);
  await chown(disk, uid, uid);
  if (options.description.builds === true) {
    const target = join(disk, "..", vmPaths.target);
    await emptyTarget(target);
    await chown(target, uid, uid);
  }
  const memory = join(disk, "../memory");
  await writeFile(memory, "", { mode: 0o600 });
  await truncate(memory, options.machine.memoryMib * MIB);
  await chown(memory, uid, uid);
}

async function makeOverlay(options: FreezeOptions, overlay: string): Promise<void> {
  await emptyQcow2(overlay, options.description.disk_gib);
}

const CLUSTER_BYTES = 64 * 1024;
/** Of what becomes a layer. A layer keeps each cluster whole that was written to, and a file system writes a few blocks in many places. */
const TARGET_CLUSTER_BYTES = 16 * 1024;

/** What a build writes to. */
export function emptyTarget(file: string): Promise<void> {
  return emptyQcow2(file, TARGET_GIB, TARGET_CLUSTER_BYTES);
}

/** The file below it is not named inside: QEMU gets the whole chain on its command line and believes no
 *  header. */
export async function emptyQcow2(file: string, sizeGib: number, clusterBytes = CLUSTER_BYTES): Promise<void> {
  const options = ["-f", "qcow2", "-o", `cluster_size=${clusterBytes}`];
  await runProgram("qemu-img", ["create", "-q", ...options, file, String(sizeGib * GIB)], {
    deadlineMs: QEMU_IMG_DEADLINE_MS,
  });
}

interface BuildRecord {
  readonly name: string;
  readonly folder: string;
  readonly slot: number;
  readonly process: undefined;
}

async function bootAndFreeze(options: FreezeOptions, record: BuildRecord, stop: AbortSignal): Promise<void> {
  const { resources, size, machine, boot, rootImage, layers, description } = options;
  const files = {
    kernel: boot.kernel,
    initramfs: boot.initramfs,
    memory: join(record.folder, "memory"),
    rootImage,
    layers,
    frozenDisk: undefined,
    ...(description.builds === true ? { target: { rootImage: undefined, layers: [] } } : {}),
  };
  const { qmp } = await startQemu(resources, {
    record,
    size,
    machine,
    files,
    diskGib: description.disk_gib,
    purpose: "template",
    isMachine: false,
    state: undefined,
  });
  let step: FreezeStep = "boot";
  // Whatever is waited for below ends with it: the guest's channel closes with its QEMU.
  const kill = (): void => void qmp.execute("quit").catch(() => undefined);
  stop.addEventListener("abort", kill, { once: true });
  try {
    stop.throwIfAborted();
    await resources.egress.load(resources.slots.slot(record.slot), NO_EGRESS);
    // Only now, when it reaches nothing, and its end is heard of.
    await qmp.execute("cont");
    const { bootMs, templateWarmUpMs, freezeMs } = resources.deadlines;
    const agent = join(record.folder, vmPaths.agent);
    const channel = await firstAnswer(
      qmp,
      GuestChannel.connect(agent, { resync: false, deadlineMs: bootMs }),
    ).catch(async (error: unknown) => {
      if (await hasOpenedPort(qmp)) step = "hello";
      throw error;
    });
    step = "warm-up";
    for (const command of description.warm_up) await runCommand(channel, command, templateWarmUpMs);
    step = "start";
    // The guest is a user's, and could answer each question just in time.
    if (options.prepare !== undefined)
      await withDeadline(channel, PREPARE_WITHIN_MS, options.prepare(channel));
    // The channel stays open: a clone then wakes with the host connected, as it was frozen.
    step = "freeze";
    const uid = uidOf(resources, resources.slots.slot(record.slot));
    await saveState(qmp, { folder: record.folder, uid, deadlineMs: freezeMs });
    // The migration has flushed the disk; what is left of this QEMU is killed with everything else of the
    // build.
    channel.close("the template is frozen");
  } catch (error) {
    stop.throwIfAborted();
    const words = { console: await consoleTail(qmp), log: await lastWords(record.folder) };
    throw new FreezeError(step, words, error);
  } finally {
    stop.removeEventListener("abort", kill);
    qmp.close();
  }
}

/** Whether the agent has come so far as to open its port. */
async function hasOpenedPort(qmp: Qmp): Promise<boolean> {
  const devices = (await qmp.execute("query-chardev").catch(() => [])) as readonly Chardev[];
  return devices.some((device) => device.label === "agent" && device["frontend-open"]);
}

interface Chardev {
  readonly label: string;
  readonly "frontend-open": boolean;
}

async function publish(folder: string, target: string): Promise<void> {
  for (const name of ["memory", STATE_FILE, vmPaths.disk, "overlay"]) {
    await chown(join(folder, name), 0, 0);
    await chmod(join(folder, name), 0o444);
  }
  for (const name of [QEMU_LOG, vmPaths.target]) await rm(join(folder, name), { force: true });
  // Another host that shares the folder may have been faster, and clones may be waking from its files
  // already.
  if (await isComplete(target)) return;
  await rm(target, { recursive: true, force: true });
  await rename(folder, target).catch(async (error: unknown) => {
    if (!(await isComplete(target))) throw error;
  });
}

async function consoleTail(qmp: Qmp): Promise<string> {
  const text = await qmp.execute("ringbuf-read", { device: "console", size: 2_000 }).catch(() => "");
  return String(text).trim().slice(-500) || "nothing";
}
