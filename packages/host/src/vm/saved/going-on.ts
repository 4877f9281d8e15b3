// A paused guest on its way to go on. Its record says that it runs before its vCPUs do, so that a host
// process that is killed from then on leaves a VM which the next one adopts. Its saved files stay until the
// guest has answered. Where its QEMU ends between, the guest is paused as before if nothing was written to
// its disk since: what it had in memory still belongs to that disk then, whether or not its vCPUs ran for a
// moment.

import { access, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { vmPaths } from "../qemu/qemu-arguments.ts";
import { killProcess } from "../qemu/process.ts";
import { saveRecord, type VmRecord } from "../record/record.ts";
import { savedPaths } from "./saved-guest.ts";

/** Writes the record that says that it runs. Nothing may have run in the guest, and QEMU has its disk open.
 *  */
export async function beginToGoOn(record: VmRecord): Promise<void> {
  await writeFile(join(record.folder, savedPaths.goingOn), await diskMark(record), { mode: 0o600 });
  await saveRecord({ ...record, status: "running" });
}

/** Whether what was saved of the VM still is what it can go on from. Its QEMU is ended first, because a guest
 *  that runs may write. */
export async function isAsSaved(record: VmRecord): Promise<boolean> {
  const mark = await readFile(join(record.folder, savedPaths.goingOn), "utf8").catch(() => undefined);
  if (mark === undefined || (await isMissing(join(record.folder, savedPaths.manifest)))) return false;
  if (record.process !== undefined) await killProcess(record.process);
  return (await diskMark(record).catch(() => undefined)) === mark;
}

/** Differs after each write. */
async function diskMark({ folder }: VmRecord): Promise<string> {
  const { ino, size, mtimeNs } = await stat(join(folder, vmPaths.disk), { bigint: true });
  return `${ino} ${size} ${mtimeNs}`;
}

function isMissing(file: string): Promise<boolean> {
  return access(file).then(
    () => false,
    () => true,
  );
}
