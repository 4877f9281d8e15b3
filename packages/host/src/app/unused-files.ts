// Removes unused kernels, images, frozen templates and layers from this host's disk, and what programs that were cut off have left there.

import { stat } from "node:fs/promises";
import type { Logger } from "pino";
import type { Host } from "./host.ts";
import { removeTree, removeWorkFolder } from "../system/remove-tree.ts";
import { cutOffKernels, unusedBootFiles } from "../templates/boot-files.ts";

/** In a folder that several hosts share what is being made is touched more often than that: a build that makes no progress is given up sooner. */
const SHARED_UNTOUCHED_MS = 3_600_000;

/** Removes what no template leads to and no disk stands on, where it was last touched before this time. Returns how many that were. Where it is not
 *  known what the disks of all VMs stand on, only what was cut off goes: no disk stands on that. A time and not an age: to find that out may
 *  itself take long, and what comes meanwhile must stay. */
export async function sweepUnusedFiles(host: Host, touchedBeforeMs: number, log: Logger): Promise<number> {
  const { config, library } = host;
  const ofOthersMs = config.sharedAssets
    ? Math.min(touchedBeforeMs, Date.now() - SHARED_UNTOUCHED_MS)
    : touchedBeforeMs;
  const left = await listed(log, [() => library.cutOffOwn()]);
  const leftInAssets = await listed(log, [() => library.cutOff(), () => cutOffKernels(config.assetsFolder)]);
  // Disks stand on the host's own link or copy of what is in the cache.
  const kept = await listed(log, [() => host.imageCache.unused()]);
  const below = await host.engine.allBackingFiles();
  const unused = below === undefined ? [] : await listed(log, unusedIn(host, below));
  const wasLeft = new Set([...left, ...leftInAssets]);
  const others = unused.filter((path) => !wasLeft.has(path));
  return (
    (await removeUntouched(left, touchedBeforeMs, { remove: removeWorkFolder, log })) +
    (await removeUntouched(leftInAssets, ofOthersMs, { remove: removeWorkFolder, log })) +
    (await removeUntouched(kept, touchedBeforeMs, { remove: removeTree, log })) +
    (await removeUntouched(others, touchedBeforeMs, { remove: removeTree, log }))
  );
}

type Listing = () => Promise<string[]>;

function unusedIn({ config, boot, library, moves }: Host, below: ReadonlySet<string>): Listing[] {
  const own: Listing[] = [() => moves.unusedLayers(below), () => library.unusedOwn(below)];
  // What other hosts made in a folder that they share is theirs to judge.
  if (config.sharedAssets) return own;
  return [...own, () => library.unused(below), () => unusedBootFiles(config.assetsFolder, boot)];
}

/** A folder that cannot be read does not keep the others from being swept. */
async function listed(log: Logger, listings: readonly Listing[]): Promise<string[]> {
  const paths: string[] = [];
  for (const list of listings) {
    try {
      paths.push(...(await list()));
    } catch (error) {
      log.warn({ err: error }, "a cache could not be listed, so it was not cleaned up");
    }
  }
  return paths;
}

/** Paths that could not be removed, which the log has already. */
const told = new Set<string>();

/** Of files and folders those that were last made or changed before this time. One that cannot be removed is told once, and passed over. Returns how
 *  many were removed. */
export async function removeUntouched(
  paths: readonly string[],
  touchedBeforeMs: number,
  { remove, log }: { readonly remove: (path: string) => Promise<void>; readonly log: Logger },
): Promise<number> {
  let removed = 0;
  for (const path of paths) {
    try {
      const found = await stat(path).catch(() => undefined);
      // Both times are of this machine's clock, as ours is.
      if (found === undefined || Math.max(found.mtimeMs, found.ctimeMs) >= touchedBeforeMs) continue;
      await remove(path);
      removed += 1;
      told.delete(path);
    } catch (error) {
      if (!told.has(path)) log.warn({ err: error, path }, "an unused file could not be removed; it stays");
      told.add(path);
    }
  }
  return removed;
}
