// A file or a tree of this machine as a tar archive. Links are packed as links and never followed.

import { createReadStream, type Stats } from "node:fs";
import { lstat, readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { SkerryInputError } from "../errors/errors.ts";
import { nameOfBytes, pathOfName } from "./byte-names.ts";
import { BLOCK_BYTES, paddingOf, writeHeader } from "./tar-header.ts";

export interface PackedTree {
  /** Bytes of all files in it. */
  readonly bytes: number;
  /** What it comes to with headers, but for long names. */
  readonly archiveBytes: number;
  readonly files: number;
  /** Paths of what is neither file nor directory nor link, and is left out. */
  readonly skipped: readonly string[];
  /** What is in it. */
  readonly items: readonly Item[];
  readonly archive: AsyncGenerator<Uint8Array>;
}

/** Names are as byte-names.ts has them, and so are paths. */
export interface Item {
  readonly path: string;
  /** In the archive; empty for a directory of which only what is in it is packed. */
  readonly name: string;
  readonly stats: Stats;
}

/** `isLeftOut` is asked of each name in the archive; of a directory: with all that is in it. */
export async function packTree(
  path: string,
  name: string,
  isLeftOut: (name: string, isDirectory: boolean) => boolean = () => false,
): Promise<PackedTree> {
  const items: Item[] = [];
  const skipped: string[] = [];
  await walk({ path, name, stats: await lstat(path) }, { items, skipped, isLeftOut });
  const files = items.filter(({ stats }) => stats.isFile());
  return {
    bytes: files.reduce((sum, { stats }) => sum + stats.size, 0),
    archiveBytes: files.reduce(
      (sum, { stats }) => sum + stats.size + paddingOf(stats.size),
      items.length * BLOCK_BYTES,
    ),
    files: files.length,
    ...{ skipped, items },
    archive: archiveOf(items),
  };
}

interface Walk {
  readonly items: Item[];
  readonly skipped: string[];
  readonly isLeftOut: (name: string, isDirectory: boolean) => boolean;
}

async function walk(item: Item, all: Walk): Promise<void> {
  const { path, name, stats } = item;
  const { items, skipped, isLeftOut } = all;
  if (name !== "" && isLeftOut(name, stats.isDirectory())) return;
  if (!stats.isFile() && !stats.isDirectory() && !stats.isSymbolicLink()) {
    skipped.push(path);
    return;
  }
  if (name !== "") items.push(item);
  if (!stats.isDirectory()) return;
  const children = await readdir(pathOfName(path), { encoding: "buffer" });
  for (const child of children.map(nameOfBytes).toSorted()) {
    const childPath = join(path, child);
    const childStats = await lstat(pathOfName(childPath));
    await walk({ path: childPath, name: name === "" ? child : `${name}/${child}`, stats: childStats }, all);
  }
}

async function* archiveOf(items: readonly Item[]): AsyncGenerator<Uint8Array> {
  for (const { path, name, stats } of items) {
    const common = { mode: stats.mode & 0o7777, modifiedS: stats.mtimeMs / 1_000, target: "", bytes: 0 };
    if (stats.isDirectory()) yield writeHeader({ ...common, type: "directory", name: `${name}/` });
    else if (stats.isSymbolicLink())
      yield writeHeader({ ...common, type: "link", name, target: await targetOf(path) });
    else {
      yield writeHeader({ ...common, type: "file", name, bytes: stats.size });
      yield* contentOf(path, stats.size);
      yield Buffer.alloc(paddingOf(stats.size));
    }
  }
  yield Buffer.alloc(2 * BLOCK_BYTES);
}

async function targetOf(path: string): Promise<string> {
  return nameOfBytes(await readlink(pathOfName(path), { encoding: "buffer" }));
}

/** As many bytes as the header says, also of a file that grows. */
async function* contentOf(path: string, bytes: number): AsyncGenerator<Uint8Array> {
  if (bytes === 0) return;
  let read = 0;
  for await (const chunk of createReadStream(pathOfName(path), { end: bytes - 1 })) {
    read += (chunk as Buffer).length;
    yield chunk as Buffer;
  }
  if (read < bytes)
    throw new SkerryInputError(
      `${path} became shorter while it was copied.`,
      "Copy it again when nothing writes to it.",
      "file_changed",
    );
}
