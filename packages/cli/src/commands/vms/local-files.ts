// Files on this machine, on their way to and from a sandbox.

import { randomBytes } from "node:crypto";
import { createReadStream, openAsBlob, type Stats } from "node:fs";
import { chmod, chown, copyFile, open, realpath, rename, rm, stat, statfs } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Readable } from "node:stream";
import { CliError } from "../../errors/errors.ts";

/** Stands for standard input or output. */
export const STDIO = "-";

export interface LocalSource extends AsyncDisposable {
  readonly content: Blob | ReadableStream<Uint8Array>;
  /** Where it is known before it is read. */
  readonly bytes?: number;
  /** Its permissions in octal. Undefined for standard input. */
  readonly mode?: string | undefined;
}

/** A regular file as a blob, which is read as it is sent and whose length the server learns first; all else as a stream. */
export async function openLocalFile(path: string): Promise<LocalSource> {
  if (path === STDIO) return streamSource(process.stdin);
  const stats = await stat(path);
  if (stats.isDirectory())
    throw new CliError("is_directory", `${path} is a directory.`, {
      remediation: `Copy it with all that is in it: skerry cp ${path} ID:/root/`,
    });
  if (!stats.isFile()) return streamSource(createReadStream(path));
  return {
    content: await openAsBlob(path),
    bytes: stats.size,
    mode: permissionsOf(stats),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/** Without those that run a program as its owner: in the VM that is root. */
function permissionsOf({ mode }: Stats): string {
  return (mode & 0o777).toString(8).padStart(4, "0");
}

function streamSource(stream: Readable): LocalSource {
  return {
    content: Readable.toWeb(stream) as ReadableStream<Uint8Array>,
    // A server may answer before it has read everything; an open standard input would keep this process alive.
    async [Symbol.asyncDispose]() {
      stream.on("error", () => undefined);
      stream.destroy();
    },
  };
}

export interface SavedFile {
  readonly path: string;
  readonly bytes: number;
}

export interface SaveOptions {
  /** For a target that is a directory. */
  readonly name: string;
  /** Undefined: what fits on the disk, with a reserve. */
  readonly maxBytes: number | undefined;
  /** Permissions of a file that is new here, less what this machine's umask takes. */
  readonly mode?: number | undefined;
  /** Told how many bytes more have come. */
  readonly onProgress?: (bytes: number) => void;
}

/** Writes beside the target and renames, so that the target is whole or as it was. */
export async function saveLocalFile(
  content: ReadableStream<Uint8Array>,
  target: string,
  { name, maxBytes, mode, onProgress }: SaveOptions,
): Promise<SavedFile> {
  const chunks = told(content, onProgress);
  try {
    const path = (await statIfThere(target))?.isDirectory() === true ? join(target, name) : target;
    const existing = await statIfThere(path);
    // A device or a pipe is written to; renaming would put a file in its place.
    if (existing !== undefined && !existing.isFile())
      return { path, bytes: await write(bounded(chunks, maxBytes), path, "w") };
    return {
      path,
      bytes: await replace(chunks, path, {
        existing,
        mode,
        maxBytes,
      }),
    };
  } finally {
    // Data that is not read any more would keep the connection, and this process, alive. After the end it does nothing.
    await content.cancel().catch(() => undefined);
  }
}

async function* told(
  content: AsyncIterable<Uint8Array>,
  onProgress: (bytes: number) => void = () => undefined,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    onProgress(chunk.length);
    yield chunk;
  }
}

/** A file in a VM can be larger than any disk and take no room there. What comes is bounded, not what was announced. */
export async function* bounded(
  content: AsyncIterable<Uint8Array>,
  maxBytes: number | undefined,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of content) {
    bytes += chunk.length;
    if (maxBytes !== undefined && bytes > maxBytes) throw tooLarge(maxBytes);
    yield chunk;
  }
}

function tooLarge(maxBytes: number): CliError {
  return new CliError("too_large", `The file has more than ${maxBytes} bytes; nothing was kept of it.`, {
    remediation: "Give more with --max-size, save it on a disk with more room, or send it to `-`.",
  });
}

/** The rest is for other programs of this machine that write meanwhile. */
const PART_OF_FREE_DISK = 0.9;

/** Undefined where the file system does not know its size, as some that are reached over a network. */
export async function freeBytes(folder: string): Promise<number | undefined> {
  const { bavail, blocks, bsize } = await statfs(folder);
  return blocks === 0 ? undefined : Math.floor(bavail * bsize * PART_OF_FREE_DISK);
}

async function replace(
  content: AsyncIterable<Uint8Array>,
  path: string,
  {
    existing,
    mode,
    maxBytes,
  }: {
    readonly existing: Stats | undefined;
    readonly mode: number | undefined;
    readonly maxBytes: number | undefined;
  },
): Promise<number> {
  const real = existing === undefined ? path : await realpath(path);
  const beside = join(dirname(real), `.${basename(real)}.${randomBytes(6).toString("hex")}.part`);
  try {
    const bytes = await write(
      bounded(content, maxBytes ?? (await freeBytes(dirname(real)))),
      beside,
      "wx",
      existing === undefined ? mode : OWNER_ONLY,
    );
    if (existing !== undefined) await inherit(beside, existing);
    // Other names of the file are to have what is new as well.
    if (existing !== undefined && existing.nlink > 1) await copyFile(beside, real);
    else await rename(beside, real);
    return bytes;
  } finally {
    await rm(beside, { force: true });
  }
}

const OWNER_ONLY = 0o600;

/** Owner and permissions of the file that is replaced. Where this user may not give a file away, it becomes
 *  this user's. */
async function inherit(path: string, { uid, gid, mode }: Stats): Promise<void> {
  await chown(path, uid, gid).catch(() => undefined);
  await chmod(path, mode & 0o777);
}

async function write(
  content: AsyncIterable<Uint8Array>,
  path: string,
  flags: "w" | "wx",
  mode = 0o666,
): Promise<number> {
  await using file = await open(path, flags, mode);
  let bytes = 0;
  for await (const chunk of content) {
    // Appends where the last one ended, and writes all of it, which `file.write` does not promise.
    await file.writeFile(chunk);
    bytes += chunk.length;
  }
  return bytes;
}

async function statIfThere(path: string): Promise<Stats | undefined> {
  return stat(path).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  });
}
