// Writes what a guest needs to go on. Its vCPUs are stopped meanwhile, so this is the time in which a VM of which a snapshot is taken stands
// still: checksums and the disk's own cache are left to `sealSaved`.

import { constants, copyFile } from "node:fs/promises";
import { join } from "node:path";
import { SkerryError } from "@skerry/contract/errors";
import { findSize } from "@skerry/contract/sizes";
import { runProgram } from "../../system/run.ts";
import { settled } from "../../system/settled.ts";
import { memoryOf } from "../record/memory-of.ts";
import { saveState } from "../qemu/device-state.ts";
import { vmPaths } from "../qemu/qemu-arguments.ts";
import type { Qmp } from "../qemu/qmp.ts";
import { uidOf, type HostResources } from "../record/vm-resources.ts";
import { savedPaths, type SavableRecord } from "./saved-guest.ts";

const MIB = 1024 * 1024;
const DEADLINE_MS = 100_000;

export interface SaveGuestOptions {
  readonly resources: HostResources;
  readonly record: SavableRecord;
  readonly qmp: Qmp;
  /** Of the saved guest. */
  readonly folder: string;
}

/** Writes pages and device state, and a copy of the disk where the folder is not the VM's own. Throws `disk_full`. */
export async function saveGuest(options: SaveGuestOptions): Promise<void> {
  const { record, folder } = options;
  await settled([writePages(options), writeState(options)]);
  // Saving the state has flushed the disk, and nothing writes to it before the guest goes on.
  if (folder !== record.folder)
    await copyFile(
      join(record.folder, vmPaths.disk),
      join(folder, vmPaths.disk),
      constants.COPYFILE_FICLONE,
    ).catch(orDiskFull);
}

async function writePages({ resources, record, qmp, folder }: SaveGuestOptions): Promise<void> {
  const memoryMib = findSize(record.size)?.memory_mib ?? 0;
  const pid = record.process?.pid;
  if (pid === undefined) throw new Error("the record does not name its QEMU");
  const args = [pid, await memoryAddress(qmp), memoryMib * MIB].map(String);
  const base = await memoryOf(resources, record, memoryMib);
  await runProgram(resources.changedPages, [...args, base, join(folder, savedPaths.memory)], {
    deadlineMs: DEADLINE_MS,
  }).catch(orDiskFull);
}

async function writeState({ resources, record, qmp, folder }: SaveGuestOptions): Promise<void> {
  const uid = uidOf(resources, resources.slots.slot(record.slot));
  const file = join(folder, savedPaths.state);
  await saveState(qmp, { folder: record.folder, uid, file, deadlineMs: resources.deadlines.freezeMs }).catch(
    orDiskFull,
  );
}

/** Where the guest's memory begins in QEMU's address space. What a QEMU that a guest has broken into says is an address of its own. */
async function memoryAddress(qmp: Qmp): Promise<bigint> {
  const text = String(await qmp.execute("human-monitor-command", { "command-line": "gpa2hva 0" }));
  const address = /\(mem\) is (0x[0-9a-f]{1,16})\b/.exec(text)?.[1];
  if (address === undefined) throw new Error(`QEMU does not say where the guest's memory is: ${text.trim()}`);
  return BigInt(address);
}

/** For a `catch`: `disk_full` where that is why. The guest goes on after this. */
export function orDiskFull(error: unknown): never {
  throw whereDiskIsFull(error) ?? error;
}

/** Programs and the system say it in different words. */
export function whereDiskIsFull(error: unknown): SkerryError | undefined {
  const { code } = error as NodeJS.ErrnoException;
  const isFull =
    code === "ENOSPC" ||
    code === "EDQUOT" ||
    (error instanceof Error && /No space left|quota exceeded/i.test(error.message));
  if (!isFull) return undefined;
  return new SkerryError("disk_full", "The host's disk is full.", {
    remediation: "Free space on the host, or remove snapshots.",
    cause: error,
  });
}
