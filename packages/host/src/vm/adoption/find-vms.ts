// What an earlier host process has left, found from the folders and from the kernel alone, because that process may have been killed at any
// line. This part only sorts: it asks no guest, no QEMU and waits for none, so that no VM delays the moment from which the host serves.
// `adopter.ts` then takes over each VM that runs, in the background, each on its own.

import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { findSize, type Size } from "@skerry/contract/sizes";
import type { Logger } from "pino";
import { CLOSED_MODE } from "../../system/closed-folders.ts";
import { BELOW_FILE, saveBackingFiles } from "../disk/backing-files.ts";
import { forgetOthers, withInjection } from "../record/secrets-in-memory.ts";
import { endOfHost, paused, stopped, type EndReason } from "../lifecycle/end-reason.ts";
import { cgroupName, uidsOf, type HostResources } from "../record/vm-resources.ts";
import { findByUid, isAlive, killProcess, type FoundProcess } from "../qemu/process.ts";
import { vmPaths } from "../qemu/qemu-arguments.ts";
import {
  hasEnded,
  isBeingCreated,
  isWithout,
  keepsDisk,
  type VmRecord,
  type Waking,
} from "../record/record.ts";
import { readRecords, type FoundFolder, type RecordOwner } from "../record/read-records.ts";
import { isKeptAsItIs, isMachineId, isQemuOf, isVmId, unreadableRecord } from "../lifecycle/unreadable.ts";
import { isAsSaved } from "../saved/going-on.ts";
import { WARM_PREFIX } from "../warm/warm-clones.ts";

/** The cause is not known, because no host process watched the VM. */
const endedUnseen: EndReason = {
  status: "gone",
  cause: "qemu_ended",
  reason: "the microVM ended while its host was down",
};

/** Receives the VMs that are paused on two hosts until control decides which of them runs them. */
export interface InFlightMoves {
  /** It has arrived completely and could run here. */
  arrived(record: VmRecord, size: Size): void;
  /** It was sent completely and could run on the target. */
  sent(record: VmRecord, moveId: string): void;
}

export interface AdoptionOptions {
  readonly resources: HostResources;
  readonly vmsFolder: string;
  readonly owner: RecordOwner;
  readonly log: Logger;
}

/** One callback for each kind of VM that is found. None of them waits for a guest or a disk. */
export interface AdoptionHandlers extends Pick<InFlightMoves, "arrived"> {
  /** Its QEMU is alive. */
  running(record: VmRecord): void;
  /** Its warm clone was taken, and the host process was killed before the guest had its identity. */
  waking(record: VmRecord, waking: Waking): void;
  ended(record: VmRecord): void;
  /** `isKept`: its QEMU, if it has one, is left running. */
  unreadable(record: VmRecord, isKept: boolean): void;
  /** Its resources have to be released. With an end the VM stays listed; without one it is removed. */
  end(record: VmRecord, end: EndReason | undefined): void;
}

export interface Found {
  readonly running: number;
  readonly ended: number;
  readonly unreadable: number;
  /** Folders of VMs that were never begun, processes that no record knows, and namespaces without a VM. */
  readonly removed: number;
}

/** Call it once, before any VM is made. */
export async function findVms(options: AdoptionOptions, handlers: AdoptionHandlers): Promise<Found> {
  const { resources, vmsFolder, owner } = options;
  await mkdir(vmsFolder, { recursive: true, mode: CLOSED_MODE });
  const folders = await Promise.all((await readRecords(vmsFolder, owner)).map(completed));
  await forgetOthers(
    owner.instance,
    folders.flatMap(({ found }) => (found.kind === "mine" ? [found.record] : [])),
    folders.flatMap(({ id, found }) => (found.kind === "mine" || found.kind === "absent" ? [] : [id])),
  );
  const claimed = await claimSlots(options, folders);
  const fates = await Promise.all(folders.map((one) => sort(options, handlers, one)));
  const strangers = await killStrangers(options, folders, claimed);
  const namespaces = await resources.slots.sweep();
  const count = (fate: Fate): number => fates.filter((one) => one === fate).length;
  return {
    running: count("running"),
    ended: count("ended"),
    unreadable: count("unreadable"),
    removed: count("removed") + strangers + namespaces,
  };
}

async function completed(one: FoundFolder): Promise<FoundFolder> {
  const { found } = one;
  return found.kind === "mine"
    ? { ...one, found: { ...found, record: await withInjection(found.record) } }
    : one;
}

type Fate = "running" | "ended" | "unreadable" | "removed" | "left";

/** Takes the slots of all VMs and does not adopt them: for a host process that only builds templates. Resolves
 *  with their number. */
export async function claimSlotsOnly(options: AdoptionOptions): Promise<number> {
  const slots = await claimSlots(options, await readRecords(options.vmsFolder, options.owner));
  await options.resources.slots.sweep();
  return slots.size;
}

/** Takes the slots of all VMs that have not ended, so that they are neither removed nor given to others.
 *  Resolves with them. */
async function claimSlots(
  { resources, owner }: Pick<AdoptionOptions, "resources" | "owner">,
  folders: readonly FoundFolder[],
): Promise<ReadonlySet<number>> {
  const slots = new Set<number>();
  for (const { found } of folders) {
    if (found.kind === "mine" && !hasEnded(found.record)) slots.add(found.record.slot);
  }
  const kept = keptOf(folders);
  for (const process of kept.length === 0 ? [] : await findByUid(uidsOf(resources))) {
    // Each slot has a user of its own, so the kernel knows the slot of a VM whose record is not understood.
    if (await isOneOf(process, kept, owner)) slots.add(process.uid - resources.firstVmUid);
  }
  for (const slot of slots) resources.slots.adopt(slot);
  return slots;
}

function keptOf(folders: readonly FoundFolder[]): FoundFolder[] {
  return folders.filter(({ id, found }) => isVmId(id) && isKeptAsItIs(found));
}

async function isOneOf(
  process: FoundProcess,
  folders: readonly FoundFolder[],
  { instance }: Pick<RecordOwner, "instance">,
): Promise<boolean> {
  for (const folder of folders) if (await isQemuOf(process, folder, instance)) return true;
  return false;
}

async function sort(options: AdoptionOptions, handlers: AdoptionHandlers, one: FoundFolder): Promise<Fate> {
  const { id, folder, found } = one;
  // Control has no row for a warm clone, so control does not remove it. `killStrangers` kills its QEMU.
  if (id.startsWith(WARM_PREFIX))
    return found.kind === "mine" ? sortMine(handlers, found.record) : discard(options, folder);
  if (!isVmId(id)) {
    options.log.warn({ folder }, "this is no VM's folder, so it is left alone");
    return "left";
  }
  if (found.kind === "mine") {
    // For machines of older versions of the host, which did not write the file.
    if (found.record.machine !== undefined && found.record.below !== undefined)
      void saveBackingFiles(folder, found.record.below).catch((error: unknown) =>
        options.log.warn({ err: error, vm: id }, `${BELOW_FILE} could not be written`),
      );
    return sortMine(handlers, found.record);
  }
  // The record is the first file of a VM, so a folder without one is empty; but a folder with a disk is never
  // discarded.
  const isEmpty = !isMachineId(id) || (await isWithout(join(folder, vmPaths.disk)));
  if (found.kind === "absent" && isEmpty) return discard(options, folder);
  const record = await unreadableRecord(one, options.owner);
  options.log.error(
    { vm: id, folder, reason: record.reason },
    "the record of a VM is not understood; its files are left as they are",
  );
  handlers.unreadable(record, isKeptAsItIs(found));
  return "unreadable";
}

async function discard({ log }: AdoptionOptions, folder: string): Promise<Fate> {
  try {
    await rm(folder, { recursive: true, force: true });
    return "removed";
  } catch (error) {
    log.warn({ err: error, folder }, "what is left of a VM could not be removed; it stays");
    return "left";
  }
}

async function sortMine(handlers: AdoptionHandlers, record: VmRecord): Promise<Fate> {
  if (hasEnded(record)) {
    handlers.ended(record);
    return "ended";
  }
  const isThere = record.process !== undefined && (await isAlive(record.process));
  if (isBeingCreated(record))
    return isThere && sortArrived(handlers, record)
      ? "running"
      : sortEnded(handlers, record, unfinished(record));
  if (!isThere) return sortEnded(handlers, record, (await isAsSaved(record)) ? paused : endOf(record));
  if (record.waking === undefined) handlers.running(record);
  else handlers.waking(record, record.waking);
  return "running";
}

function sortEnded(handlers: AdoptionHandlers, record: VmRecord, end: EndReason | undefined): Fate {
  handlers.end(record, end);
  return "ended";
}

/** False where the arrival was not complete. */
function sortArrived(handlers: AdoptionHandlers, record: VmRecord): boolean {
  const size = findSize(record.size);
  if (record.arrival?.whole !== true || size === undefined) return false;
  handlers.arrived(record, size);
  return true;
}

const whileStarting = endOfHost("its host was restarted while it was starting");

/** The end of a VM whose creation was interrupted. Its request got an error, and control repeats it or has
 *  given up. A disk that may be the only copy is kept. */
function unfinished(record: VmRecord): EndReason | undefined {
  return keepsDisk(record) ? whileStarting : undefined;
}

/** The end of a VM whose QEMU is not there. */
function endOf({ waking, process, machine }: VmRecord): EndReason {
  // It was acknowledged, and its QEMU was being replaced.
  if (waking !== undefined && process === undefined) return whileStarting;
  return machine?.stopping === true ? stopped : endedUnseen;
}

/** Kills our processes that no record names: a QEMU whose host was killed between starting it and writing
 *  its record, and any process under the user of a slot that no VM has. A process that waits for a disk ends
 *  only when the disk answers, so the host waits for them in the background, and their slots stay taken until
 *  then. Resolves with how many there were. */
async function killStrangers(
  options: AdoptionOptions,
  folders: readonly FoundFolder[],
  claimed: ReadonlySet<number>,
): Promise<number> {
  const { resources, owner } = options;
  const pids = new Set(folders.map(({ found }) => (found.kind === "mine" ? found.record.process?.pid : 0)));
  const kept = keptOf(folders);
  const isStranger = async (process: FoundProcess): Promise<boolean> => {
    if (!claimed.has(process.uid - resources.firstVmUid)) return true;
    const isOurs = process.name?.startsWith(`${owner.instance}:`) === true;
    return isOurs && !pids.has(process.identity.pid) && !(await isOneOf(process, kept, owner));
  };
  const strangers: FoundProcess[] = [];
  for (const process of await findByUid(uidsOf(resources))) {
    if (await isStranger(process)) strangers.push(process);
  }
  for (const [slot, some] of Map.groupBy(strangers, ({ uid }) => uid - resources.firstVmUid)) {
    if (!claimed.has(slot)) resources.slots.adopt(slot);
    void endStrangers(options, some)
      .then(() => (claimed.has(slot) ? undefined : resources.slots.close(resources.slots.slot(slot))))
      .catch((error: unknown) =>
        options.log.error({ err: error, slot }, "a process without a VM is still there"),
      );
  }
  return strangers.length;
}

/** Kills the processes of one slot. */
async function endStrangers(
  { resources }: AdoptionOptions,
  strangers: readonly FoundProcess[],
): Promise<void> {
  for (const { identity, name } of strangers) {
    await killProcess(identity);
    if (name !== undefined) await resources.cgroups.remove(cgroupName({ name }));
  }
}
