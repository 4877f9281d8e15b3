// The cache that test runs of all checkouts on this machine share, so that a fresh clone does not fill it
// again: images and frozen templates, a prepared database, and the times of the last run. Removing the folder
// costs time and nothing else.

import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes } from "node:fs/promises";
import { dirname, join, relative } from "node:path";

export const testCache = process.env["SKERRY_TEST_CACHE"] ?? "/var/cache/skerry-tests";

/** The tests' own SKERRY_IMAGE_CACHE, so that they neither use nor fill the machine's. */
export const imageCache = join(testCache, "images");

const root = join(import.meta.dirname, "../..");
/** Sources of images and frozen templates. A host names each by a digest of its own as well, so what is
 *  missing here costs disk and no test. */
const MADE_OF = ["templates", "packages/guest/src", "packages/host/native", "packages/host/src/templates"];
/** Folders that no run has used for so long are of versions that are gone. */
const UNUSED_MS = 3 * 24 * 3_600_000;

export interface Assets {
  readonly folder: string;
  /** False: it is this run's alone, which removes it. */
  readonly kept: boolean;
}

/**
 * The folder of assets for hosts of this version. A new one gets the images of the others from `imageCache`.
 * QEMU's users must be able to reach it: where the cache lies in a closed folder such as /root, it is one
 * that lasts for this run.
 */
export async function assetsFolder(name: string): Promise<Assets> {
  const folder = join(testCache, `${name}-${await digestOf(MADE_OF)}`);
  await mkdir(folder, { recursive: true });
  for (let above = folder; above !== "/"; above = dirname(above)) {
    const { mode } = await stat(above);
    if ((mode & 0o001) === 0) return { folder: await mkdtemp("/tmp/skerry-assets-"), kept: false };
  }
  const now = new Date();
  await utimes(folder, now, now);
  await removeUnused(name, folder);
  return { folder, kept: true };
}

/** Of files' names and contents. */
export async function digestOf(folders: readonly string[]): Promise<string> {
  const digest = createHash("sha256");
  for (const folder of folders) {
    const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true });
    const files = entries
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name));
    for (const file of files.toSorted())
      digest
        .update(`${relative(root, file)}\0`)
        .update(await readFile(file))
        .update("\0");
  }
  return digest.digest("hex").slice(0, 16);
}

async function foldersOf(name: string): Promise<string[]> {
  const names = await readdir(testCache);
  return names
    .filter((one) => new RegExp(`^${name}-[0-9a-f]{16}$`).test(one))
    .map((one) => join(testCache, one));
}

async function removeUnused(name: string, used: string): Promise<void> {
  for (const folder of await foldersOf(name)) {
    if (folder === used || Date.now() - (await stat(folder)).mtimeMs < UNUSED_MS) continue;
    await rm(folder, { recursive: true, force: true });
  }
}
