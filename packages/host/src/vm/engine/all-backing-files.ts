import { join } from "node:path";
import { vmPaths } from "../qemu/qemu-arguments.ts";
import { layerFile } from "../disk/layers.ts";
import { isWithout, type BuildRecord } from "../record/record.ts";
import { readRecords, type RecordOwner } from "../record/read-records.ts";
import { pathsOf, readBackingFiles } from "../disk/backing-files.ts";

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
    for (const file of below === undefined ? [] : pathsOf(below)) all.add(file);
    const build = found.kind === "mine" ? found.record.build : undefined;
    for (const file of build === undefined ? [] : filesOfBuild(build, owner)) all.add(file);
  }
  return all;
}

/** What its target stands on, and what was sealed of it: a template will stand on that. */
function filesOfBuild({ target, seals }: BuildRecord, { places }: RecordOwner): string[] {
  const sealed = seals.flatMap(({ layer }) =>
    layer === undefined ? [] : layerFile(places.layers, layer.digest),
  );
  return [target.root_image, ...target.layers, ...sealed];
}
