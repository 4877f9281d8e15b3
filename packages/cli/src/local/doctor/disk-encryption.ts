// Whether what VMs leave on the disk, their memory while they are paused too, is encrypted on its way there.

import { stat } from "node:fs/promises";
import { deviceNumber } from "@skerry/contract/hosts/device-number";
import { nearestFolder } from "../system/files.ts";
import { notTried, ok, warning, type Outcome } from "./outcome.ts";
import type { SystemFiles } from "./system-files.ts";

const DEVICES = "/sys/dev/block";
/** Of devices of the kernel's device mapper that encrypt: LUKS and plain dm-crypt. */
const ENCRYPTS = /^CRYPT-/;
/** LVM on RAID on LUKS on a partition is four. */
const LAYERS_MAX = 8;

/** `MAJOR:MINOR` of the device that a folder is on. */
export async function deviceOf(folder: string): Promise<string> {
  return deviceNumber((await stat(await nearestFolder(folder), { bigint: true })).dev);
}

export async function checkDiskEncryption(files: SystemFiles, device: string): Promise<Outcome> {
  const folder = `${DEVICES}/${device}`;
  // Btrfs, ZFS, overlays and memory have a number that is no device's.
  if ((await files.list(folder)).length === 0)
    return notTried(`the file system of the state folder (${device}) tells of no device`);
  if (await isEncrypted(files, folder, LAYERS_MAX)) return ok(`the state folder is on dm-crypt (${device})`);
  return warning(
    `the kernel does not encrypt the device of the state folder (${device}); a drive or a cloud may, below it`,
    "Paused sandboxes and snapshots hold what their guests had in memory. Where a disk can be lost or read by others, put SKERRY_STATE on LUKS.",
  );
}

/** All that lies below it is, where it is made of several. */
async function isEncrypted(files: SystemFiles, folder: string, layers: number): Promise<boolean> {
  const uuid = await files.read(`${folder}/dm/uuid`);
  if (uuid !== undefined && ENCRYPTS.test(uuid)) return true;
  const below = await files.list(`${folder}/slaves`);
  if (below.length === 0 || layers === 0) return false;
  const encrypted = await Promise.all(
    below.map((name) => isEncrypted(files, `${folder}/slaves/${name}`, layers - 1)),
  );
  return encrypted.every(Boolean);
}
