// Removes unused kernels, images, frozen templates and layers from this host's disk.

import type { Host } from "./host.ts";
import { unusedBootFiles } from "./templates/boot-files.ts";
import { removeUntouched } from "./templates/unused-templates.ts";

/** Removes what no template leads to and no disk stands on, where it was last touched before this time. Returns how many that were. Where it is not
 *  known what the disks of all VMs stand on, everything stays. A time and not an age: to find that out may itself take long, and what comes
 *  meanwhile must stay. */
export async function sweepUnusedFiles(
  { config, boot, engine, library, moves }: Host,
  touchedBeforeMs: number,
): Promise<number> {
  const below = await engine.allBackingFiles();
  if (below === undefined) return 0;
  const removed =
    (await moves.sweep(below, touchedBeforeMs)) + (await library.sweepOwn(below, touchedBeforeMs));
  // What others made there is theirs to judge.
  if (config.sharedAssets) return removed;
  const templates = await library.sweep(below, touchedBeforeMs);
  const bootFiles = await removeUntouched(await unusedBootFiles(config.assetsFolder, boot), touchedBeforeMs);
  return removed + templates + bootFiles;
}
