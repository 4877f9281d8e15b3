import { readdir } from "node:fs/promises";
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

/** Images and frozen templates that are not used. Some may be a build. Running clones hold the memory that they map open. */
export async function unusedTemplates(
  folders: TemplateFolders,
  { images, frozen, below }: UsedFiles,
): Promise<string[]> {
  const usedImages = new Set([...images, ...below]);
  const usedFrozen = new Set([...frozen, ...[...below].map((file) => basename(dirname(file)))]);
  const [foundImages, foundFrozen] = [await namesIn(folders.images), await namesIn(folders.frozen)];
  return [
    ...foundImages.map((name) => join(folders.images, name)).filter((file) => !usedImages.has(file)),
    ...foundFrozen.filter((name) => !usedFrozen.has(name)).map((name) => join(folders.frozen, name)),
  ];
}

function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}
