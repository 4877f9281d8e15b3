// Kernels and images that the hosts of this machine have made, kept outside of their state folders and
// checkouts, so that a new one of either starts without making them again. An entry is a folder that is named
// after what it is made of:
//
//   content    the image, or the folder of a kernel
//   kept.json  the digest of the content, and when it was made
//
// Hosts of several versions use the folder at once. An entry appears by a rename and is not changed after
// that; a host that finds it removed or damaged makes its own. No fault of the cache is a fault of a host.

import { createHash } from "node:crypto";
import {
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  utimes,
  writeFile,
} from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { isImageEntry, isNewImageEntry, NEW_IMAGE_ENTRY } from "@skerry/contract/hosts/image-cache-folder";
import type { Logger } from "pino";
import { Type } from "typebox";
import { Value } from "typebox/value";
import { discardWorkFolder, removeTree } from "../system/remove-tree.ts";
import { runProgram } from "../system/run.ts";
import { layerDigest } from "../vm/disk/layer-stream.ts";
import { checkDiskReserve } from "../vm/disk/disk-reserve.ts";

const DAY_MS = 24 * 3_600_000;
/** The age above which an entry is made anew, because Debian has newer packages by then. */
export const FRESH_MS = 7 * DAY_MS;
/** The time after which an entry that no host has used is removed. */
export const UNUSED_MS = 30 * DAY_MS;
/** The time after which a folder that a host was killed over is removed. */
const CUT_OFF_MS = DAY_MS;
const KEPT_MAX_BYTES = 8 * 1024 ** 3;
const DEADLINE_MS = 600_000;
const BLOCK_BYTES = 512;

const Kept = Type.Object({
  digest: Type.String({ pattern: "^[0-9a-f]{64}$" }),
  made_at: Type.String({ format: "date-time" }),
});

/** Identifies an image or a kernel. */
export interface CacheKey {
  readonly name: string;
  /** Everything that the content depends on, as JSON. */
  readonly madeOf: unknown;
}

export interface ImageCacheOptions {
  /** Undefined: nothing is kept. */
  readonly folder: string | undefined;
  /** Paths of native/contain.c and native/data-ranges.c. */
  readonly contain: string;
  readonly dataRanges: string;
  readonly log: Logger;
  readonly maxBytes?: number;
}

export class ImageCache {
  readonly #options: ImageCacheOptions;
  #isDistrustTold = false;

  constructor(options: ImageCacheOptions) {
    this.#options = options;
  }

  /**
   * Has the content at `target`, which must not exist. Returns false where no fresh and undamaged entry is
   * kept, with nothing at `target`. Its folder must be one that no other program works in.
   */
  async take(key: CacheKey, target: string): Promise<boolean> {
    const folder = await this.#trustedFolder();
    if (folder === undefined) return false;
    const entry = join(folder, entryName(key));
    try {
      if (!(await isFresh(entry))) return false;
      await this.#copy(contentOf(entry), target);
      if ((await readKept(entry))?.digest === (await this.#digestOf(target))) {
        const now = new Date();
        await utimes(entry, now, now);
        return true;
      }
      this.#options.log.warn({ entry }, "a kept image is damaged; it is made anew");
      await removeTree(target);
      await removeTree(entry);
      return false;
    } catch (error) {
      this.#options.log.warn({ err: error, entry }, "a kept image could not be used; it is made anew");
      await removeTree(target);
      return false;
    }
  }

  /** Keeps a file or folder, unless a fresh entry is there. `source` is not changed afterwards. */
  async keep(key: CacheKey, source: string): Promise<void> {
    const folder = await this.#trustedFolder();
    if (folder === undefined) return;
    const entry = join(folder, entryName(key));
    let work: string | undefined;
    try {
      if (await isFresh(entry)) return;
      work = await mkdtemp(join(folder, NEW_IMAGE_ENTRY));
      await this.#copy(source, contentOf(work));
      const kept = { digest: await this.#digestOf(contentOf(work)), made_at: new Date().toISOString() };
      await writeFile(join(work, "kept.json"), JSON.stringify(kept));
      await removeTree(entry);
      // Fails where another host was faster: its entry is as good.
      await rename(work, entry);
    } catch (error) {
      this.#options.log.info({ err: error, entry }, "an image was not kept for other hosts");
    } finally {
      if (work !== undefined) await discardWorkFolder(work);
    }
  }

  /** Paths of what no host has used for long, of what was cut off, and of what is above the bound, the
   *  longest unused first. */
  async unused(): Promise<string[]> {
    const folder = await this.#trustedFolder();
    if (folder === undefined) return [];
    const now = Date.now();
    const paths: string[] = [];
    const entries: { readonly path: string; readonly usedMs: number; readonly bytes: number }[] = [];
    for (const name of await readdir(folder)) {
      const path = join(folder, name);
      const usedMs = await lstat(path).then(
        ({ mtimeMs }) => mtimeMs,
        () => now,
      );
      if (isNewImageEntry(name) && now - usedMs > CUT_OFF_MS) paths.push(path);
      if (isImageEntry(name)) entries.push({ path, usedMs, bytes: await bytesOf(path).catch(() => 0) });
    }
    let bytes = 0;
    for (const entry of entries.toSorted((a, b) => b.usedMs - a.usedMs)) {
      bytes += entry.bytes;
      if (now - entry.usedMs > UNUSED_MS || bytes > (this.#options.maxBytes ?? KEPT_MAX_BYTES))
        paths.unshift(entry.path);
    }
    return paths;
  }

  /** Path of the folder without links; undefined where nothing is kept, or another user could write there. */
  async #trustedFolder(): Promise<string | undefined> {
    const { folder, log } = this.#options;
    if (folder === undefined) return undefined;
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const real = await realpath(folder);
      const reason = await whyDistrusted(real);
      if (reason === undefined) return real;
      if (!this.#isDistrustTold) log.warn({ folder, reason }, "images are not kept for other hosts");
      this.#isDistrustTold = true;
    } catch (error) {
      log.info({ err: error, folder }, "images are not kept for other hosts");
    }
    return undefined;
  }

  /** Links where both are in one file system, and copies otherwise. */
  async #copy(from: string, to: string): Promise<void> {
    const { contain } = this.#options;
    const copy = (...how: string[]): Promise<string> =>
      runProgram("cp", ["-a", ...how, "--", from, to], { deadlineMs: DEADLINE_MS, contain });
    try {
      await copy("--link");
    } catch {
      await removeTree(to);
      await checkDiskReserve(dirname(to), await bytesOf(from));
      await copy("--reflink=auto", "--sparse=always");
    }
  }

  /** A digest of names and contents, in which holes of a file count as zeros and cost nothing. */
  async #digestOf(content: string): Promise<string> {
    const hash = createHash("sha256");
    for (const file of await filesOf(content))
      hash.update(`${relative(content, file)}\0${await layerDigest(file, this.#options.dataRanges)}\n`);
    return hash.digest("hex");
  }
}

function entryName({ name, madeOf }: CacheKey): string {
  return `${name}-${createHash("sha256").update(JSON.stringify(madeOf)).digest("hex").slice(0, 32)}`;
}

function contentOf(entry: string): string {
  return join(entry, "content");
}

async function isFresh(entry: string): Promise<boolean> {
  const kept = await readKept(entry);
  const ageMs = kept === undefined ? Infinity : Date.now() - Date.parse(kept.made_at);
  return ageMs >= 0 && ageMs < FRESH_MS;
}

async function readKept(entry: string): Promise<{ digest: string; made_at: string } | undefined> {
  const text = await readFile(join(entry, "kept.json"), "utf8").catch(() => "null");
  try {
    const kept: unknown = JSON.parse(text);
    return Value.Check(Kept, kept) ? kept : undefined;
  } catch {
    return undefined;
  }
}

/** The first folder on the way that another user owns or may write to; undefined where there is none. */
async function whyDistrusted(folder: string): Promise<string | undefined> {
  const trusted = [0, process.geteuid?.() ?? 0];
  for (let path = folder; ; path = dirname(path)) {
    const { uid, mode } = await lstat(path);
    if (!trusted.includes(uid)) return `${path} belongs to the user ${uid}`;
    // In a sticky folder others add files, and do not rename those of root.
    const isSticky = path !== folder && (mode & 0o1000) !== 0;
    if ((mode & 0o022) !== 0 && !isSticky) return `${path} may be written to by other users`;
    if (path === "/") return undefined;
  }
}

/** The file itself, or all files below a folder, in order. */
async function filesOf(path: string): Promise<string[]> {
  if (!(await lstat(path)).isDirectory()) return [path];
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => !entry.isDirectory());
  return files.map((entry) => join(entry.parentPath, entry.name)).toSorted();
}

/** Bytes on the disk of a file, or of all files below a folder. */
async function bytesOf(path: string): Promise<number> {
  const found = await Promise.all((await filesOf(path)).map((file) => lstat(file)));
  return found.reduce((sum, { blocks }) => sum + blocks * BLOCK_BYTES, 0);
}
