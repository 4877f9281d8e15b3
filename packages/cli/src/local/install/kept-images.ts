// Kernels and images that a host keeps for the next state folder of its machine
// (host/src/templates/image-cache.ts).

import { readdir, readFile, rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  IMAGE_CACHE_FOLDER,
  isImageEntry,
  isNewImageEntry,
  NO_IMAGE_CACHE,
} from "@skerry/contract/hosts/image-cache-folder";
import { readSettings } from "../system/settings-file.ts";
import { under, type Installation } from "./installation.ts";

/** The folder in which they are; undefined where there are none. */
export async function keptImagesFolder(installation: Installation): Promise<string | undefined> {
  const text = await readFile(under(installation, installation.settings), "utf8").catch(() => "");
  const folder = readSettings(text)["SKERRY_IMAGE_CACHE"] || IMAGE_CACHE_FOLDER;
  if (folder === NO_IMAGE_CACHE) return undefined;
  return (await entriesOf(installation, folder)).length === 0 ? undefined : folder;
}

/** Removes them, or says where they stay; undefined where none stay. */
export async function endKeptImages(
  installation: Installation,
  folder: string | undefined,
  isPurge: boolean,
): Promise<string | undefined> {
  if (folder === undefined) return undefined;
  if (!isPurge)
    return `Kernels and images that it has made are in ${folder}, for another Skerry of this machine.`;
  await removeKeptImages(installation, folder);
  return undefined;
}

/** Removes the folder of the default, too, and the one above, where nothing else is in them. */
async function removeKeptImages(installation: Installation, folder: string): Promise<void> {
  for (const name of await entriesOf(installation, folder))
    await rm(join(under(installation, folder), name), { recursive: true, force: true });
  const emptied = folder === IMAGE_CACHE_FOLDER ? [folder, dirname(folder)] : [];
  for (const path of emptied) await rmdir(under(installation, path)).catch(() => undefined);
}

async function entriesOf(installation: Installation, folder: string): Promise<string[]> {
  const names = await readdir(under(installation, folder)).catch(() => [] as string[]);
  return names.filter((name) => isImageEntry(name) || isNewImageEntry(name));
}
