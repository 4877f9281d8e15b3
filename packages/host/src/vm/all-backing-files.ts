import { join } from "node:path";
import { vmPaths } from "./qemu/qemu-arguments.ts";
import { isWithout } from "./record.ts";
import { readRecords, type RecordOwner } from "./read-records.ts";
import { readBackingFiles } from "./disk/backing-files.ts";

/** The base files of the disks of all VMs, also of those that do not run: they must stay. Undefined where
 *  they are not known for every VM; then no file may be removed. */
export async function allBackingFiles(
  vmsFolder: string,
  owner: RecordOwner,
): Promise<Set<string> | undefined> {
  const all = new Set<string>();
  for (const { folder, found } of await readRecords(vmsFolder, owner)) {
    const below = found.kind === "mine" ? found.record.below : await readBackingFiles(folder, owner.places);
    const isKnown =
      found.kind === "mine" || below !== undefined || (await isWithout(join(folder, vmPaths.disk)));
    if (!isKnown) return undefined;
    for (const file of Object.values(below ?? {})) all.add(file);
  }
  return all;
}
