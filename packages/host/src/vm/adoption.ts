// What an earlier host process has left: VMs that answer are adopted, the others are given back. From the folders and from the kernel
// alone, because that process may have been killed at any line.

import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { findSize, type Size } from "@skerry/contract/sizes";
import type { Logger } from "pino";
import type { MainProcess } from "../guest/agent.ts";
import { adoptClone, mainOf, type LiveVm } from "./clone.ts";
import { endOfHost, stopped, type VmEnd } from "./ending.ts";
import { callBack, wasHandedOver } from "./qemu-moves.ts";
import { cgroupName, uidsOf, type MachineRoom } from "./instance.ts";
import { findByName, isAlive, killProcess } from "./process.ts";
import { vmPaths } from "./qemu.ts";
import { Qmp } from "./qmp.ts";
import {
  hasEnded,
  keepsDisk,
  readRecords,
  saveRecord,
  type FoundFolder,
  type VmRecord,
  type Waking,
} from "./record.ts";

/** Nobody was there to hear why. */
const endedUnseen: VmEnd = {
  status: "gone",
  cause: "qemu_ended",
  reason: "the microVM ended while its host was down",
};

const CALL_BACK_DEADLINE_MS = 10_000;

export interface AdoptionOptions {
  readonly room: MachineRoom;
  readonly vmsFolder: string;
  readonly instance: string;
  readonly log: Logger;
}

/** What becomes of each VM that is found. */
export interface Foundlings {
  readonly travellers: Travellers;
  running(record: VmRecord, live: LiveVm, main: MainProcess | undefined): void;
  /** Its host was killed between taking a clone for it and the end of its waking. Nobody waits for the rest of it here. */
  waking(record: VmRecord, waking: Waking): void;
  ended(record: VmRecord): void;
  /** Gives back what it does not keep; without an end it keeps nothing and is forgotten. What fails is remembered and not thrown. */
  end(record: VmRecord, end: VmEnd | undefined): Promise<void>;
}

/** VMs that stand still in two places, until control says in which of them they go on. */
export interface Travellers {
  /** It could go on here. */
  arrived(record: VmRecord, size: Size): void;
  /** It could go on elsewhere. */
  handedOver(record: VmRecord, moveId: string): void;
}

export interface Adopted {
  readonly adopted: number;
  readonly removed: number;
}

/** Call it once, before any VM is made. */
export async function adoptVms(options: AdoptionOptions, foundlings: Foundlings): Promise<Adopted> {
  const { room, vmsFolder } = options;
  await mkdir(vmsFolder, { recursive: true, mode: 0o711 });
  const folders = await readRecords(vmsFolder);
  for (const { record } of folders) {
    if (record !== undefined && !hasEnded(record)) room.slots.adopt(record.slot);
  }
  const outcomes = await Promise.all(folders.map((found) => adoptOne(options, foundlings, found)));
  await killStrangers(options, new Set(folders.map(({ record }) => record?.process?.pid)));
  const namespaces = await room.slots.sweep();
  const adopted = outcomes.filter(Boolean).length;
  return { adopted, removed: folders.length - adopted + namespaces };
}

async function adoptOne(
  options: AdoptionOptions,
  foundlings: Foundlings,
  { folder, record }: FoundFolder,
): Promise<boolean> {
  if (record === undefined) {
    await rm(folder, { recursive: true, force: true });
    return false;
  }
  if (hasEnded(record)) {
    foundlings.ended(record);
    return false;
  }
  return (await isTraveller(foundlings.travellers, record)) || adoptLive(options, foundlings, record);
}

async function adoptLive(
  options: AdoptionOptions,
  foundlings: Foundlings,
  record: VmRecord,
): Promise<boolean> {
  const { waking } = record;
  if ((record.status === "creating" && waking === undefined) || record.process === undefined) {
    // Whoever asked for it got an error, and control asks again or has given up. What was promised has to be heard of.
    const end = endOfHost("its host was restarted while it was starting");
    await foundlings.end(record, keepsDisk(record) || waking !== undefined ? end : undefined);
    return false;
  }
  if (!(await isAlive(record.process))) {
    await foundlings.end(record, record.machine?.stopping === true ? stopped : endedUnseen);
    return false;
  }
  if (waking === undefined) return adoptRunning(options, foundlings, record);
  foundlings.waking(record, waking);
  return true;
}

async function adoptRunning(
  { room: { slots, egress }, log }: AdoptionOptions,
  foundlings: Foundlings,
  record: VmRecord,
): Promise<boolean> {
  try {
    // What is in force was never taken away; this is for a change that was cut off, and for new addresses of the machine.
    await egress.replace(slots.slot(record.slot), record.egress);
    const live = await adoptClone(record);
    const { departure, ...settled } = record;
    if (departure !== undefined) await saveRecord(settled);
    foundlings.running(settled, live, await mainOf(settled, live));
    return true;
  } catch (error) {
    const reason = error instanceof Error ? error.message : "the microVM does not answer";
    log.warn({ vm: record.id, reason }, "a VM could not be adopted");
    await foundlings.end(record, endOfHost(reason));
    return false;
  }
}

/** Whether it was on its way and has to wait. A departure that was cut off before its end is called back. */
async function isTraveller(travellers: Travellers, record: VmRecord): Promise<boolean> {
  const { arrival, departure, process } = record;
  const size = findSize(record.size);
  if (process === undefined || size === undefined || !(await isAlive(process))) return false;
  if (record.status === "creating" && arrival?.whole === true) {
    travellers.arrived(record, size);
    return true;
  }
  if (record.status !== "running" || departure === undefined) return false;
  if (!(await isHandedOver(record))) return false;
  travellers.handedOver(record, departure.move_id);
  return true;
}

async function isHandedOver(record: VmRecord): Promise<boolean> {
  const deadline = AbortSignal.timeout(CALL_BACK_DEADLINE_MS);
  const qmp = await Qmp.connect(join(record.folder, vmPaths.qmp), deadline).catch(() => undefined);
  if (qmp === undefined) return false;
  try {
    if (await wasHandedOver(qmp)) return true;
    await callBack(qmp);
    return false;
  } catch {
    // What does not answer is found out about again by whoever adopts it.
    return false;
  } finally {
    qmp.close();
  }
}

/** QEMU processes of ours that no record knows: the host was killed between starting one and writing it down. */
async function killStrangers(
  { room, instance }: AdoptionOptions,
  known: ReadonlySet<number | undefined>,
): Promise<void> {
  for (const { identity, name } of await findByName(`${instance}:`, uidsOf(room))) {
    if (known.has(identity.pid)) continue;
    await killProcess(identity);
    await room.cgroups.remove(cgroupName({ name }));
  }
}
