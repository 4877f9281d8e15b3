// Writes a tar archive that a guest has sent into a directory of this machine. The guest may be hostile, so:
//
//   nothing is written outside the directory: no `..`, no absolute name, and no step over a link, whoever made the link and when
//   links are made as links; a hard link only to a file that this copy has written
//   devices, pipes and sockets are left out, setuid, setgid and sticky bits too
//   a file comes beside its place and is renamed, so what was there is never written through, only replaced; never a device, or a directory
//   what it takes on the disk is bounded, by what comes and not by what is announced

import { randomBytes } from "node:crypto";
import { chmod, link, lstat, mkdir, open, rename, rm, symlink, utimes } from "node:fs/promises";
import { join } from "node:path";
import { pathOfName } from "@skerry/sdk/folder/byte-names";
import { CliError } from "../../errors/errors.ts";
import type { TarEntry } from "./tar-reader.ts";

export interface ExtractOptions {
  /** A directory that is there. The user has named it, so links on the way to it are followed. */
  readonly folder: string;
  /** First step of every name in the archive; undefined where names begin with what is in the source. */
  readonly sourceName: string | undefined;
  /** What the first step is called here; undefined: what is in it goes into the folder itself. */
  readonly name: string | undefined;
  /** The user copies one file: anything else is not what was asked for. */
  readonly isOneFile: boolean;
  readonly maxBytes: number | undefined;
  readonly onProgress: (bytes: number) => void;
}

export interface Extracted {
  readonly files: number;
  readonly bytes: number;
  /** Names of what was left out. */
  readonly skipped: readonly string[];
}

const ENTRIES_MAX = 1_000_000;
/** What a file takes at least. */
const DISK_BLOCK_BYTES = 4_096;
const SKIPPED_SHOWN = 100;
/** Year 2242: a time that every file system has. */
const TIME_MAX_S = 2 ** 33;

export async function extractTree(
  entries: AsyncIterable<TarEntry>,
  options: ExtractOptions,
): Promise<Extracted> {
  const tree = new Tree(options);
  for await (const entry of entries) await tree.take(entry);
  return tree.finish();
}

class Tree {
  readonly #options: ExtractOptions;
  /** Directories that are known to be ones. They stay so: nothing of ours replaces a directory. */
  readonly #safe = new Set([""]);
  readonly #made: { readonly path: string; readonly mode: number; readonly modifiedS: number }[] = [];
  readonly #written = new Set<string>();
  readonly #skipped: string[] = [];
  #entries = 0;
  #takenBytes = 0;
  #bytes = 0;

  constructor(options: ExtractOptions) {
    this.#options = options;
  }

  async take(entry: TarEntry): Promise<void> {
    this.#entries += 1;
    if (this.#entries > ENTRIES_MAX) throw hostile(`it holds more than ${ENTRIES_MAX} files`);
    this.#take(DISK_BLOCK_BYTES);
    const steps = this.#stepsOf(entry.name);
    // The directory of the user's that the copy goes into.
    if (steps.length === 0) return;
    const isLeaf = entry.type === "file" || entry.type === "link";
    if (this.#options.isOneFile && (!isLeaf || steps.length > 1 || this.#entries > 1))
      throw hostile("it holds more than the one file that was asked for");
    await this.#make(steps, entry);
  }

  async #make(steps: readonly string[], entry: TarEntry): Promise<void> {
    if (entry.type === "directory") return this.#directory(steps, entry);
    if (entry.type !== "file" && entry.type !== "link" && entry.type !== "hard link") {
      if (this.#skipped.length < SKIPPED_SHOWN) this.#skipped.push(`${entry.name} (${entry.type})`);
      return undefined;
    }
    await this.#safeDirectory(steps.slice(0, -1));
    if (entry.type === "file") return this.#file(steps, entry);
    if (entry.type === "hard link") return this.#hardLink(steps, entry);
    return this.#replace(steps, (path) => symlink(pathOfName(checkedTarget(entry)), pathOfName(path)));
  }

  /** Directories get their permissions last: one may not be writable by its owner. */
  async finish(): Promise<Extracted> {
    for (const { path, mode, modifiedS } of this.#made.toReversed()) {
      await chmod(pathOfName(path), mode);
      await utimes(pathOfName(path), modifiedS, modifiedS);
    }
    return { files: this.#written.size, bytes: this.#bytes, skipped: this.#skipped };
  }

  /** The steps below the folder, of which none leads up. */
  #stepsOf(name: string): readonly string[] {
    const steps = name.split("/").filter((step) => step !== "" && step !== ".");
    if (name.startsWith("/") || steps.includes("..") || name.includes("\0"))
      throw hostile(`it holds the name ${JSON.stringify(name)}, which leads elsewhere`);
    const { sourceName, name: own } = this.#options;
    if (sourceName !== undefined && steps.shift() !== sourceName)
      throw hostile(`it holds the name ${JSON.stringify(name)}, which was not asked for`);
    return own === undefined ? steps : [own, ...steps];
  }

  #pathOf(steps: readonly string[]): string {
    return join(this.#options.folder, ...steps);
  }

  /** Makes what is missing. A link in the place of a directory is not followed. */
  async #safeDirectory(steps: readonly string[]): Promise<void> {
    for (let depth = 1; depth <= steps.length; depth += 1) {
      const step = steps.slice(0, depth);
      const key = step.join("/");
      if (this.#safe.has(key)) continue;
      const path = this.#pathOf(step);
      const there = await lstatIfThere(path);
      if (there === undefined) await mkdir(pathOfName(path), { mode: 0o755 });
      else if (!there.isDirectory())
        throw new CliError(
          "not_directory",
          `${path} is ${there.isSymbolicLink() ? "a link" : "no directory"} here, and the copy has a directory of this name.`,
          {
            remediation: "Nothing is written through a link. Remove it, or copy to another directory.",
          },
        );
      this.#safe.add(key);
    }
  }

  async #directory(steps: readonly string[], { mode, modifiedS }: TarEntry): Promise<void> {
    const path = this.#pathOf(steps);
    await this.#safeDirectory(steps.slice(0, -1));
    const isNew = (await lstatIfThere(path)) === undefined;
    await this.#safeDirectory(steps);
    if (isNew) this.#made.push({ path, mode: mode & 0o777, modifiedS: clampedTime(modifiedS) });
  }

  async #file(steps: readonly string[], { mode, modifiedS, content }: TarEntry): Promise<void> {
    await this.#replace(steps, async (path) => {
      await using file = await open(pathOfName(path), "wx", 0o600);
      for await (const chunk of content) {
        this.#take(chunk.length);
        await file.writeFile(chunk);
        this.#bytes += chunk.length;
        this.#options.onProgress(chunk.length);
      }
      await file.chmod(mode & 0o777);
      await file.utimes(clampedTime(modifiedS), clampedTime(modifiedS));
    });
    this.#written.add(steps.join("/"));
  }

  async #hardLink(steps: readonly string[], { target }: TarEntry): Promise<void> {
    const original = this.#stepsOf(target);
    if (!this.#written.has(original.join("/")))
      throw hostile(`it holds a hard link to ${JSON.stringify(target)}, which is no file of it`);
    await this.#replace(steps, (path) => link(pathOfName(this.#pathOf(original)), pathOfName(path)));
    this.#written.add(steps.join("/"));
  }

  /** Makes it beside its place. A file or a link that is there is replaced, and nothing else. */
  async #replace(steps: readonly string[], make: (path: string) => Promise<void>): Promise<void> {
    const path = this.#pathOf(steps);
    const there = await lstatIfThere(path);
    if (there !== undefined && !there.isFile() && !there.isSymbolicLink())
      throw new CliError(
        "already_exists",
        `${path} is ${there.isDirectory() ? "a directory" : "neither a file nor a directory"} here, and the copy has a file of this name.`,
        {
          remediation: "Remove it, or copy to another directory.",
        },
      );
    const beside = join(this.#pathOf(steps.slice(0, -1)), `.${randomBytes(9).toString("hex")}.part`);
    try {
      await make(beside);
      await rename(pathOfName(beside), pathOfName(path));
    } finally {
      await rm(pathOfName(beside), { force: true });
    }
    // It was a file, and may now be a link.
    this.#written.delete(steps.join("/"));
  }

  #take(bytes: number): void {
    this.#takenBytes += bytes;
    const { maxBytes } = this.#options;
    if (maxBytes !== undefined && this.#takenBytes > maxBytes)
      throw new CliError(
        "too_large",
        `The copy takes more than ${maxBytes} bytes here, and was broken off.`,
        {
          remediation:
            "Allow more with --max-size, or copy to a disk with more room. What came before is kept.",
        },
      );
  }
}

function checkedTarget({ name, target }: TarEntry): string {
  if (target !== "" && !target.includes("\0")) return target;
  throw hostile(`it holds the link ${JSON.stringify(name)}, which leads nowhere`);
}

function clampedTime(seconds: number): number {
  return Math.min(Math.max(0, seconds), TIME_MAX_S);
}

function hostile(what: string): CliError {
  return new CliError("archive_refused", `What the VM has sent is refused: ${what}.`, {
    remediation: "What came before is kept. The VM may not be what you think it is.",
  });
}

async function lstatIfThere(path: string) {
  return lstat(pathOfName(path)).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  });
}
