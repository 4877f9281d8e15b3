// Removes unused images, frozen templates and layers from this host's disk.

import type { Host } from "./host.ts";

/** Removes files that no template needs, that no disk is based on, and that were not changed for
 *  `untouchedForMs`. Returns how many it removed. Where the base files of some VM are not known, it
 *  removes nothing. */
export async function sweepCaches(
  { config, engine, library, moves }: Host,
  untouchedForMs: number,
): Promise<number> {
  const below = await engine.filesBelow();
  if (below === undefined) return 0;
  const removed = await moves.sweep(below, untouchedForMs);
  // Another host may still need what it made in a shared folder.
  if (config.sharedAssets) return removed;
  return removed + (await library.sweep(below, untouchedForMs));
}
