// The resources of one QEMU: folder, network slot, cgroup, process. They are allocated in this order and
// released in reverse order. `releaseResources` works from the record alone, so a restarted host process
// cleans up exactly like the one that allocated them.

import { SAMPLES_FILE } from "../metrics/sample-file.ts";
import { chown, mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { findSize, type Size } from "@skerry/contract/sizes";
import { VM_UIDS_PER_HOST } from "../../config/config.ts";
import type { DenialCounts } from "../../network/denial-counts.ts";
import type { EgressLoader } from "../../network/egress-loader.ts";
import { TAP } from "../../network/guest-link.ts";
import type { Slot } from "../../network/slot.ts";
import type { Slots } from "../../network/slots.ts";
import type { GuestDeadlines } from "./guest-deadlines.ts";
import type { Cgroups, CgroupUse } from "../qemu/cgroup.ts";
import {
  findByName,
  isAlive,
  killProcess,
  launchQemu,
  type LaunchOptions,
  type ProcessIdentity,
  type UidRange,
} from "../qemu/process.ts";
import {
  hasOwnMemory,
  listenOn,
  namedFiles,
  PAGES_FD,
  qemuArguments,
  vmPaths,
  type Machine,
  type Purpose,
  type VmFiles,
} from "../qemu/qemu-arguments.ts";
import { logTail, QEMU_LOG } from "../qemu/qemu-log.ts";
import { Qmp } from "../qemu/qmp.ts";
import { BELOW_FILE } from "../disk/backing-files.ts";
import { RECORD, type VmRecord } from "./record.ts";

/** What all VMs of this host share. */
export interface HostResources {
  readonly slots: Slots;
  readonly egress: EgressLoader;
  readonly denials: DenialCounts;
  readonly cgroups: Cgroups;
  readonly launcher: string;
  /** Keeps the consoles of machines; see console-log.c. */
  readonly consoleLog: string;
  /** Preloaded; see private-memory.c. */
  readonly privateMemory: string;
  /** Says what a guest has changed; see changed-pages.c. */
  readonly changedPages: string;
  /** Of files that hold no data; see empty-memory.ts. */
  readonly emptyMemoryFolder: string;
  /** Preloaded; see no-disassembler.c. Those under another name than the library of this QEMU do nothing. */
  readonly noDisassembler: readonly string[];
  readonly qemu: string;
  /** What it reads besides the files of a VM; see qemu-files.ts. */
  readonly qemuFiles: readonly string[];
  /** Whether QEMU has a filter of system calls of its own. */
  readonly hasSandbox: boolean;
  /** What QEMU runs guests with: /dev/kvm, where KVM is used. */
  readonly device: string | undefined;
  readonly firstVmUid: number;
  readonly deadlines: GuestDeadlines;
}

/** Identifies the resources of one QEMU. The process is missing while it is being started. */
export interface VmResources {
  readonly name: string;
  readonly folder: string;
  readonly slot: number;
  readonly process: ProcessIdentity | undefined;
}

export interface StartOptions {
  readonly record: VmResources;
  readonly size: Size;
  readonly machine: Machine;
  readonly files: VmFiles;
  /** Size of the guest's disk. */
  readonly diskGib: number;
  /** What may be written to its target, where it has one. */
  readonly targetGib?: number;
  readonly purpose: Purpose;
  readonly isMachine: boolean;
  /** Saved device state. */
  readonly state: string | undefined;
  /** Its pages that differ from `files.memory`, where it was paused or comes from a snapshot. */
  readonly pages?: string | undefined;
}

export interface StartedQemu {
  readonly process: ProcessIdentity;
  readonly qmp: Qmp;
}

const QMP_DEADLINE_MS = 20_000;
/** Files that stay of a machine until it is destroyed, and of a paused VM until it goes on. */
const KEPT: ReadonlySet<string> = new Set([
  ...[RECORD, BELOW_FILE, vmPaths.disk, vmPaths.console],
  ...["memory", "state", "saved.json", "going-on", SAMPLES_FILE],
]);

/** QEMU ended before it answered; `message` holds the end of its log. */
export class QemuStartError extends Error {
  override readonly name = "QemuStartError";
}

/** Makes folder and namespace and starts QEMU. On failure the caller calls `releaseResources`. */
export async function startQemu(resources: HostResources, options: StartOptions): Promise<StartedQemu> {
  const { record, purpose } = options;
  const slot = resources.slots.slot(record.slot);
  const uid = uidOf(resources, slot);
  const [cgroup] = await Promise.all([
    resources.cgroups.create(cgroupName(record), options.size),
    resources.slots.open(slot),
    purpose !== "template" ? giveDisks(options, uid) : undefined,
  ]);
  const process = await launched(record.folder, {
    launcher: resources.launcher,
    qemu: resources.qemu,
    args: qemuArguments({ ...options, name: record.name, hasSandbox: resources.hasSandbox }),
    folder: record.folder,
    listen: listenOn,
    console: options.isMachine ? { program: resources.consoleLog, file: vmPaths.console } : undefined,
    confinement: {
      uid,
      device: resources.device,
      hugePages: hasOwnMemory(purpose),
      netnsFile: slot.netnsFile,
      tap: TAP,
      cgroup,
      fileMib: fileMibOf(Math.max(options.diskGib, options.targetGib ?? 0)),
    },
    reads: [
      ...resources.qemuFiles,
      ...resources.noDisassembler,
      resources.privateMemory,
      ...namedFiles(options),
    ],
    env: qemuEnvironment(resources, options),
    state: options.state,
    pages: options.pages,
    log: QEMU_LOG,
  });
  return { process, qmp: await connectQmp(record.folder, process) };
}

async function giveDisks({ record, files }: StartOptions, uid: number): Promise<void> {
  await chown(join(record.folder, vmPaths.disk), uid, uid);
  if (files.target !== undefined) await chown(join(record.folder, vmPaths.target), uid, uid);
}

/** Changes how much CPU a VM that runs may use. */
export async function limitUse(
  { cgroups }: Pick<HostResources, "cgroups">,
  record: Pick<VmRecord, "name" | "size">,
  use: CgroupUse,
): Promise<void> {
  const size = findSize(record.size);
  if (size !== undefined) await cgroups.limit(cgroupName(record), size, use);
}

/** What `releaseResources` leaves of a VM that stays listed. */
export interface KeepOptions {
  /** Keeps disk and console, which a machine's next start needs, and all that a paused VM needs to go on. */
  readonly disk: boolean;
  /** Writes the record that says that the VM has ended. */
  readonly save: () => Promise<void>;
}

/** Releases all resources that the record names; resources that do not exist (yet, or any more) are
 *  skipped. The slot comes last, when no record names it any more: once it is free another VM may take it,
 *  and a second attempt, by this host process or the next, must not take it away again. */
export async function releaseResources(
  resources: Pick<HostResources, "slots" | "cgroups" | "firstVmUid">,
  record: VmResources,
  keep?: KeepOptions,
): Promise<void> {
  if (record.process !== undefined) await killProcess(record.process);
  else
    for (const found of await findByName(record.name, uidsOf(resources))) await killProcess(found.identity);
  await resources.cgroups.remove(cgroupName(record));
  if (keep === undefined) await rm(record.folder, { recursive: true, force: true });
  else if (keep.disk) await keepDisk(record.folder);
  else await makeFolder(record.folder);
  await keep?.save();
  await resources.slots.close(resources.slots.slot(record.slot));
}

async function keepDisk(folder: string): Promise<void> {
  for (const name of await readdir(folder))
    if (!KEPT.has(name)) await rm(join(folder, name), { recursive: true, force: true });
}

/** QEMU opens the files in it whose names it is given, and cannot list them. */
export const VM_FOLDER_MODE = 0o711;

/** Makes an empty folder that root owns: a QEMU that a guest has broken into must not be able to put
 *  another VM's socket in the place of its own. */
export async function makeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true, mode: VM_FOLDER_MODE });
}

/** A full qcow2 file is as large as the disk and its tables, which take less than 1 %. */
export function fileMibOf(diskGib: number): number {
  return Math.ceil(diskGib * 1_024 * 1.02) + 64;
}

export function uidsOf(resources: Pick<HostResources, "firstVmUid">): UidRange {
  // The first one is that of the name proxy, and the last one that of the proxy of apps: both outlive this
  // process.
  return { first: resources.firstVmUid, count: VM_UIDS_PER_HOST - 2 };
}

export function uidOf(resources: HostResources, slot: Slot): number {
  return resources.firstVmUid + slot.number;
}

/** Also for a process that has no record. */
export function cgroupName(record: Pick<VmResources, "name">): string {
  return record.name.slice(record.name.indexOf(":") + 1).replaceAll(":", "-");
}

function qemuEnvironment(resources: HostResources, options: StartOptions): Record<string, string> {
  const { privateMemory, noDisassembler } = resources;
  if (options.purpose === "template") return { LD_PRELOAD: noDisassembler.join(":") };
  return {
    LD_PRELOAD: [...noDisassembler, privateMemory].join(":"),
    SKERRY_PRIVATE_MEMORY: options.files.memory,
    ...(options.pages === undefined ? {} : { SKERRY_MEMORY_PAGES: String(PAGES_FD) }),
  };
}

async function launched(folder: string, options: LaunchOptions): Promise<ProcessIdentity> {
  try {
    return await launchQemu(options);
  } catch (error) {
    throw new QemuStartError(`QEMU could not be started: ${await logTail(folder)}`, { cause: error });
  }
}

/** Waits for QEMU's control socket, but not for a QEMU that has ended. */
async function connectQmp(folder: string, process: ProcessIdentity): Promise<Qmp> {
  const deadline = AbortSignal.timeout(QMP_DEADLINE_MS);
  const ended = new AbortController();
  const watch = setInterval(() => {
    void isAlive(process).then((alive) => alive || ended.abort());
  }, 100);
  try {
    return await Qmp.connect(join(folder, vmPaths.qmp), AbortSignal.any([deadline, ended.signal]));
  } catch (error) {
    throw new QemuStartError(`QEMU did not come up: ${await logTail(folder)}`, { cause: error });
  } finally {
    clearInterval(watch);
  }
}
