// Console logs of machines that are gone: files in folders of groups, as control reads them.

import { createReadStream, type ReadStream } from "node:fs";
import { mkdir, open, readdir, rename, rm, stat, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { PieceWriter, type PlacedPiece } from "@skerry/contract/host-api/timed-console";
import { SkerryError } from "@skerry/contract/errors";
import { readConsole } from "./console-log.ts";

const DAY_MS = 24 * 3_600_000;
const KEPT_MS = 7 * DAY_MS;
/** Bound of one log; the end of it is kept. */
const LOG_MAX_BYTES = 4 * 1024 * 1024;
const GROUP_MAX_BYTES = 64 * 1024 * 1024;
const ALL_MAX_BYTES = 1024 * 1024 * 1024;
const PIECE_HEAD_BYTES = 12;
/** Lines that are read of a console, most of which are shorter than 100 characters. */
const LINES_MAX = 50_000;

interface KeptLog {
  readonly path: string;
  readonly group: string;
  readonly bytes: number;
  readonly atMs: number;
}

export class KeptLogs {
  readonly #folder: string;
  #sweep: Promise<unknown> = Promise.resolve();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Copies the console. A copy that is there already is replaced at once, and never in part. */
  async keep(
    consoleFile: string,
    { group, vm }: { readonly group: string; readonly vm: string },
  ): Promise<void> {
    const folder = join(this.#folder, group);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, vm);
    {
      await using part = await open(`${path}.part`, "w", 0o600);
      await write(part, consoleFile);
    }
    await rename(`${path}.part`, path);
    this.#sweep = this.#sweep.then(() => this.#forgetOldest()).catch(() => undefined);
    await this.#sweep;
  }

  /** Throws `vm_not_found`. */
  async read({ group, vm }: { readonly group: string; readonly vm: string }): Promise<ReadStream> {
    const path = join(this.#folder, group, vm);
    const there = await stat(path).catch(() => undefined);
    if (there !== undefined) return createReadStream(path);
    throw new SkerryError("vm_not_found", "No log of it is kept here.");
  }

  async #forgetOldest(): Promise<void> {
    const logs = (await this.#list()).toSorted((one, other) => other.atMs - one.atMs);
    const ofGroups = new Map<string, number>();
    let all = 0;
    for (const { path, group, bytes, atMs } of logs) {
      const ofGroup = (ofGroups.get(group) ?? 0) + bytes;
      ofGroups.set(group, ofGroup);
      all += bytes;
      if (all > ALL_MAX_BYTES || ofGroup > GROUP_MAX_BYTES || Date.now() - atMs > KEPT_MS)
        await rm(path, { force: true });
    }
  }

  async #list(): Promise<KeptLog[]> {
    const found = await readdir(this.#folder, { recursive: true, withFileTypes: true });
    const files = found.filter((entry) => entry.isFile());
    return Promise.all(
      files.map(async ({ name, parentPath }) => {
        const path = join(parentPath, name);
        const { size, mtimeMs } = await stat(path);
        const group = parentPath.slice(this.#folder.length + 1);
        return { path, group, bytes: size, atMs: mtimeMs };
      }),
    );
  }
}

/** Writes the end of a console that is longer. */
async function write(part: FileHandle, consoleFile: string): Promise<void> {
  const never = new AbortController().signal;
  const pieces: PlacedPiece[] = [];
  // That of the mark at the beginning.
  let bytes = PIECE_HEAD_BYTES;
  for await (const piece of readConsole(consoleFile, { lines: LINES_MAX, follow: false }, never)) {
    pieces.push(piece);
    bytes += piece.bytes.length + PIECE_HEAD_BYTES;
    while (bytes > LOG_MAX_BYTES) bytes -= (pieces.shift()?.bytes.length ?? 0) + PIECE_HEAD_BYTES;
  }
  const writer = new PieceWriter();
  await part.writeFile(Buffer.concat(pieces.map((piece) => writer.written(piece))));
}
