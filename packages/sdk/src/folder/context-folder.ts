// A folder of this machine as the context of a build: which of its files belong to it, and what detection reads of them.

import { lstat, readdir, readFile, realpath, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ContextFiles } from "@skerry/build-plan/build-plan";
import { boundContext } from "@skerry/contract/builds/context-bounds";
import { DETECTED_FILES } from "@skerry/build-plan/detect/detect-app";
import { IGNORE_FILE, IGNORED_BY_DEFAULT, readIgnore } from "@skerry/build-plan/context/dockerignore";
import { DETECTED_FILE_MAX_BYTES } from "@skerry/build-plan/detect/manifests";
import { SkerryError } from "@skerry/contract/errors";
import { SkerryInputError } from "../errors/errors.ts";

export interface ContextFolder extends ContextFiles {
  readonly bytes: number;
  /** Of a path in it; of a folder: with all that is in it. */
  readonly isLeftOut: (path: string, isFolder: boolean) => boolean;
}

/** Follows no link but the folder itself. Throws `context_too_large` for more than a build takes, before all of it has been read. */
export async function readContext(folder: string): Promise<ContextFolder> {
  const stats = await stat(folder).catch(unlessMissing);
  if (stats?.isDirectory() !== true)
    throw new SkerryInputError(
      stats === undefined ? `There is no folder ${folder}.` : `${folder} is no folder.`,
      "Name the folder that is to be built.",
      stats === undefined ? "no_folder" : "not_directory",
    );
  const isLeftOut = await readLeftOut(folder);
  const files: string[] = [];
  let bytes = 0;
  let entries = 0;
  const waiting = [""];
  for (let below = waiting.pop(); below !== undefined; below = waiting.pop()) {
    for (const entry of await readdir(join(folder, below), { withFileTypes: true })) {
      const path = below === "" ? entry.name : `${below}/${entry.name}`;
      const isFolder = entry.isDirectory();
      if (isLeftOut(path, isFolder)) continue;
      entries += 1;
      if (isFolder) waiting.push(path);
      else {
        files.push(path);
        bytes += (await lstat(join(folder, path))).size;
      }
      boundContext({ bytes, entries }, path);
    }
  }
  return { files: files.toSorted(), texts: await textsOf(folder, files), bytes, isLeftOut };
}

/**
 * Names that the folder's .dockerignore leaves out, and without one those that builds leave out by default.
 */
export async function readLeftOut(folder: string): Promise<ContextFolder["isLeftOut"]> {
  const ignore = readIgnore((await ignoreText(folder)) ?? IGNORED_BY_DEFAULT);
  return (path, isFolder) => (isFolder ? ignore.isIgnoredWhole(path) : ignore.isIgnored(path));
}

/** Undefined where there is none. One that is there and is not read would let in what it names. */
async function ignoreText(folder: string): Promise<string | undefined> {
  const text = await ownText(folder, IGNORE_FILE);
  if (text !== undefined || (await lstat(join(folder, IGNORE_FILE)).catch(unlessMissing)) === undefined)
    return text;
  throw new SkerryError("invalid_build", `${IGNORE_FILE} is no file of the folder itself.`, {
    remediation: "Put a file in the place of the link or folder.",
  });
}

async function textsOf(folder: string, files: readonly string[]): Promise<Record<string, string>> {
  const there = new Set(files);
  const texts: (readonly [string, string])[] = [];
  for (const name of DETECTED_FILES) {
    const text = there.has(name) ? await textOf(join(folder, name)) : undefined;
    if (text !== undefined) texts.push([name, text]);
  }
  return Object.fromEntries(texts);
}

/** Undefined where there is no regular file of the folder's own: a link, or a way over one, may lead to any file of this machine. */
export async function ownText(folder: string, path: string): Promise<string | undefined> {
  const way = dirname(join(await realpath(folder), path));
  if ((await realpath(way).catch(unlessMissing)) !== way) return undefined;
  const stats = await lstat(join(folder, path)).catch(unlessMissing);
  if (stats?.isFile() !== true) return undefined;
  if (stats.size > DETECTED_FILE_MAX_BYTES)
    throw new SkerryError("invalid_build", `${path} has more than ${DETECTED_FILE_MAX_BYTES} bytes.`, {
      remediation: "Make it smaller.",
    });
  return readFile(join(folder, path), "utf8");
}

/** Undefined where there is no regular file, or one that is too large to be looked at. */
async function textOf(path: string): Promise<string | undefined> {
  const stats = await lstat(path).catch(unlessMissing);
  if (stats?.isFile() !== true || stats.size > DETECTED_FILE_MAX_BYTES) return undefined;
  return readFile(path, "utf8");
}

function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT" && error.code !== "ENOTDIR") throw error;
}
