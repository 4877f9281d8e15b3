// What an earlier host process has left, found from the folders and from the kernel alone, because that process may have been killed at any
// line. This part only sorts: it asks no guest, no QEMU and waits for none, so that no VM delays the moment from which the host serves.
// `adopter.ts` then takes over each VM that runs, in the background, each on its own.

import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { findSize, type Size } from "@skerry/contract/sizes";
import type { Logger } from "pino";
import { BELOW_FILE, saveBelow } from "./disk-below.ts";
import { endOfHost, stopped, type VmEnd } from "./ending.ts";
import { cgroupName, uidsOf, type MachineRoom } from "./instance.ts";
import { findByUid, isAlive, killProcess, type FoundProcess } from "./process.ts";
import { vmPaths } from "./qemu.ts";
import {
  hasEnded,
  isWithout,
  keepsDisk,
  readRecords,
  type FoundFolder,
  type RecordOwner,
  type VmRecord,
  type Waking,
} from "./record.ts";
import { isKeptAsItIs, isMachineId, isVmId, unreadableRecord } from "./unreadable.ts";
import { WARM_PREFIX } from "./warm-clones.ts";

/** The earlier host process was gone before it could learn why. */
const endedUnseen: VmEnd = {
  status: "gone",
  cause: "qemu_ended",
  reason: "the microVM ended while its host was down",
};

/** VMs that stand still in two places, until control says in which of them they go on. */
export interface Travellers {
  /** It could go on here. */
  arrived(record: VmRecord, size: Size): void;
  /** It could go on elsewhere. */
  handedOver(record: VmRecord, moveId: string): void;
}

export interface AdoptionOptions {
  readonly room: MachineRoom;
  readonly vmsFolder: string;
  readonly owner: RecordOwner;
  readonly log: Logger;
}

/** Is told of each VM that is found. None of these waits for a guest or for a disk. */
export interface Finder extends Pick<Travellers, "arrived"> {
  /** Its QEMU is alive. */
  running(record: VmRecord): void;
  /** Its clone was taken, and its host was killed before the guest was awake. */
  waking(record: VmRecord, waking: Waking): void;
  ended(record: VmRecord): void;
  /** `isKept`: its QEMU, where there is one, runs on untouched. */
  unreadable(record: VmRecord, isKept: boolean): void;
  /** What it does not keep has to be given back; without an end it keeps nothing and is forgotten. */
  end(record: VmRecord, end: VmEnd | undefined): void;
}

export interface Found {
  readonly running: number;
  readonly ended: number;
  readonly unreadable: number;
  /** Folders of VMs that were never begun, processes that no record knows, and namespaces without a VM. */
  readonly removed: number;
}

/** Call it once, before any VM is made. */
export async function findVms(options: AdoptionOptions, finder: Finder): Promise<Found> {
  const { room, vmsFolder, owner } = options;
  await mkdir(vmsFolder, { recursive: true, mode: 0o711 });
  const folders = await readRecords(vmsFolder, owner);
  const claimed = await claimSlots(options, folders);
  const fates = await Promise.all(folders.map((one) => sort(options, finder, one)));
  const strangers = await killStrangers(options, folders, claimed);
  const namespaces = await room.slots.sweep();
  const count = (fate: Fate): number => fates.filter((one) => one === fate).length;
  return {
    running: count("running"),
    ended: count("ended"),
    unreadable: count("unreadable"),
    removed: count("removed") + strangers + namespaces,
  };
}

type Fate = "running" | "ended" | "unreadable" | "removed" | "left";

/** Takes the slots of all VMs that have not ended, so that they are neither removed nor given to others. Resolves with them. */
export async function claimSlots(
  { room, owner }: Pick<AdoptionOptions, "room" | "owner">,
  folders: readonly FoundFolder[],
): Promise<ReadonlySet<number>> {
  const slots = new Set<number>();
  for (const { found } of folders) {
    if (found.kind === "mine" && !hasEnded(found.record)) slots.add(found.record.slot);
  }
  const kept = folders.filter(({ id, found }) => isVmId(id) && isKeptAsItIs(found));
  for (const { uid, name } of kept.length === 0 ? [] : await findByUid(uidsOf(room))) {
    // Each slot has a user of its own, so the kernel knows the slot of a VM whose record is not understood.
    if (kept.some(({ id }) => name?.startsWith(`${owner.instance}:${id}:`) === true)) {
      slots.add(uid - room.firstVmUid);
    }
  }
  for (const slot of slots) room.slots.adopt(slot);
  return slots;
}

async function sort(options: AdoptionOptions, finder: Finder, one: FoundFolder): Promise<Fate> {
  const { id, folder, found } = one;
  // No row of control's is about a clone that waited, so it is removed here. Its QEMU is a stranger.
  if (id.startsWith(WARM_PREFIX))
    return found.kind === "mine" ? sortMine(finder, found.record) : discard(folder);
  if (!isVmId(id)) {
    options.log.warn({ folder }, "this is no VM's folder, so it is left alone");
    return "left";
  }
  if (found.kind === "mine") {
    // Machines of versions of the host that did not write it.
    if (found.record.machine !== undefined && found.record.below !== undefined)
      void saveBelow(folder, found.record.below).catch((error: unknown) =>
        options.log.warn({ err: error, vm: id }, `${BELOW_FILE} could not be written`),
      );
    return sortMine(finder, found.record);
  }
  // Its record is the first thing that a VM gets, so there is nothing else; but a disk is never taken for nothing.
  const isEmpty = !isMachineId(id) || (await isWithout(join(folder, vmPaths.disk)));
  if (found.kind === "absent" && isEmpty) return discard(folder);
  const record = await unreadableRecord(one, options.owner);
  options.log.error(
    { vm: id, folder, reason: record.reason },
    "the record of a VM is not understood; its files are left as they are",
  );
  finder.unreadable(record, isKeptAsItIs(found));
  return "unreadable";
}

async function discard(folder: string): Promise<Fate> {
  await rm(folder, { recursive: true, force: true });
  return "removed";
}

async function sortMine(finder: Finder, record: VmRecord): Promise<Fate> {
  if (hasEnded(record)) {
    finder.ended(record);
    return "ended";
  }
  const isThere = record.process !== undefined && (await isAlive(record.process));
  if (record.status === "creating" && record.waking === undefined)
    return isThere && sortArrived(finder, record) ? "running" : sortEnded(finder, record, unfinished(record));
  if (!isThere) return sortEnded(finder, record, endOf(record));
  if (record.waking === undefined) finder.running(record);
  else finder.waking(record, record.waking);
  return "running";
}

function sortEnded(finder: Finder, record: VmRecord, end: VmEnd | undefined): Fate {
  finder.end(record, end);
  return "ended";
}

/** False where it had not come whole. */
function sortArrived(finder: Finder, record: VmRecord): boolean {
  const size = findSize(record.size);
  if (record.arrival?.whole !== true || size === undefined) return false;
  finder.arrived(record, size);
  return true;
}

const whileStarting = endOfHost("its host was restarted while it was starting");

/** The request that began it got an error, and control asks again or has given up. A disk that may be the only one is kept. */
function unfinished(record: VmRecord): VmEnd | undefined {
  return keepsDisk(record) ? whileStarting : undefined;
}

/** Of one whose QEMU is not there. */
function endOf({ waking, process, machine }: VmRecord): VmEnd {
  // It was promised, and its QEMU was being replaced.
  if (waking !== undefined && process === undefined) return whileStarting;
  return machine?.stopping === true ? stopped : endedUnseen;
}

/** Kills processes of ours that no record knows: a QEMU whose host was killed between starting it and writing it down, and everything that runs
 *  as the user of a slot that no VM has, under any name. One that waits for a disk ends when the disk answers, so they end in the background, and
 *  their slots stay taken until then. Resolves with how many there were. */
async function killStrangers(
  options: AdoptionOptions,
  folders: readonly FoundFolder[],
  claimed: ReadonlySet<number>,
): Promise<number> {
  const { room, owner } = options;
  const { instance } = owner;
  const pids = new Set(folders.map(({ found }) => (found.kind === "mine" ? found.record.process?.pid : 0)));
  const kept = folders.filter(({ id, found }) => isVmId(id) && isKeptAsItIs(found)).map(({ id }) => id);
  const isStranger = ({ identity, uid, name }: FoundProcess): boolean => {
    if (!claimed.has(uid - room.firstVmUid)) return true;
    const isOurs = name?.startsWith(`${instance}:`) === true;
    return isOurs && !pids.has(identity.pid) && !kept.some((id) => name.startsWith(`${instance}:${id}:`));
  };
  const strangers = (await findByUid(uidsOf(room))).filter(isStranger);
  for (const [slot, some] of Map.groupBy(strangers, ({ uid }) => uid - room.firstVmUid)) {
    if (!claimed.has(slot)) room.slots.adopt(slot);
    void endStrangers(options, some)
      .then(() => (claimed.has(slot) ? undefined : room.slots.close(room.slots.slot(slot))))
      .catch((error: unknown) =>
        options.log.error({ err: error, slot }, "a process without a VM is still there"),
      );
  }
  return strangers.length;
}

/** Of one slot. */
async function endStrangers({ room }: AdoptionOptions, strangers: readonly FoundProcess[]): Promise<void> {
  for (const { identity, name } of strangers) {
    await killProcess(identity);
    if (name !== undefined) await room.cgroups.remove(cgroupName({ name }));
  }
}
