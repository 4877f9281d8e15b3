import { readdir, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

interface TemplateFolders {
  readonly images: string;
  readonly frozen: string;
}

interface UsedFiles {
  /** Paths of the images that the descriptions lead to. */
  readonly images: readonly string[];
  /** Names of the frozen templates that the descriptions lead to. */
  readonly frozen: readonly string[];
  /** What the disks of VMs stand on. */
  readonly below: ReadonlySet<string>;
}

/** Removes images and frozen templates that are not used, where they were last touched before this time: the rest may be a build. Running
 *  clones hold the memory that they map open. Returns how many it removed. */
export async function removeUnusedTemplates(
  folders: TemplateFolders,
  { images, frozen, below }: UsedFiles,
  touchedBeforeMs: number,
): Promise<number> {
  const usedImages = new Set([...images, ...below]);
  const usedFrozen = new Set([...frozen, ...[...below].map((file) => basename(dirname(file)))]);
  const [foundImages, foundFrozen] = [await readdir(folders.images), await namesIn(folders.frozen)];
  const stale = [
    ...foundImages.map((name) => join(folders.images, name)).filter((file) => !usedImages.has(file)),
    ...foundFrozen.filter((name) => !usedFrozen.has(name)).map((name) => join(folders.frozen, name)),
  ];
  return removeUntouched(stale, touchedBeforeMs);
}

function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}

/** Of files and folders those that were last made or changed before this time. Returns how many that were. */
export async function removeUntouched(paths: readonly string[], touchedBeforeMs: number): Promise<number> {
  let removed = 0;
  for (const path of paths) {
    const found = await stat(path).catch(() => undefined);
    // Both times are of this machine's clock, as ours is.
    if (found === undefined || Math.max(found.mtimeMs, found.ctimeMs) >= touchedBeforeMs) continue;
    await rm(path, { recursive: true, force: true });
    removed += 1;
  }
  return removed;
}
