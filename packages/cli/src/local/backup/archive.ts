// The file of a backup: a tar archive (GNU's format, so that `tar` lists it too) with the contents first and the manifest last, because sizes and
// digests are known only when the contents have been written. It is written beside its place and comes there whole.

import { createHash } from "node:crypto";
import { open, rename, rm, type FileHandle } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { CliError } from "../../errors/errors.ts";

const BLOCK = 512;
const NAME_BYTES = 100;
const MANIFEST = "manifest.json";
const MAC = `${MANIFEST}.mac`;
const MAC_MAX_BYTES = 256;
const MANIFEST_MAX_BYTES = 1024 * 1024;
const NAME = /^[a-z][a-z0-9.-]*$/;
const TYPE_AT = 156;
const REGULAR_FILE = "0".charCodeAt(0);
const COPY_BYTES = 1024 * 1024;
/** An archive of ours has fewer entries; a file that goes on is not one. */
const ENTRIES_MAX = 16;

/** A part of a backup. */
export interface Content {
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** What is in an archive, and where. */
interface Entry {
  readonly name: string;
  readonly bytes: number;
  readonly at: number;
}

export class ArchiveWriter implements AsyncDisposable {
  readonly #path: string;
  readonly #part: string;
  readonly #file: FileHandle;
  readonly #contents: Content[] = [];
  #at = 0;

  private constructor(path: string, part: string, file: FileHandle) {
    this.#path = path;
    this.#part = part;
    this.#file = file;
  }

  static async create(path: string): Promise<ArchiveWriter> {
    const part = join(dirname(path), `.${basename(path)}.${process.pid}.part`);
    // It holds the authority's key: its owner's alone, from the first byte.
    return new ArchiveWriter(path, part, await open(part, "wx", 0o600));
  }

  async add(name: string, content: AsyncIterable<Uint8Array>): Promise<void> {
    const header = this.#at;
    const hash = createHash("sha256");
    let bytes = 0;
    for await (const chunk of content) {
      await this.#write(chunk, header + BLOCK + bytes);
      hash.update(chunk);
      bytes += chunk.length;
    }
    const padding = (BLOCK - (bytes % BLOCK)) % BLOCK;
    await this.#write(Buffer.alloc(padding), header + BLOCK + bytes);
    await this.#write(tarHeader(name, bytes), header);
    this.#at = header + BLOCK + bytes + padding;
    this.#contents.push({ name, bytes, sha256: hash.digest("hex") });
  }

  /** The file is in its place afterwards, in that of one that was there before. `sign`: see `origin.ts`. */
  async finish(manifest: object, sign?: (manifest: Uint8Array) => string): Promise<void> {
    const text = Buffer.from(`${JSON.stringify({ ...manifest, contents: this.#contents }, undefined, 2)}\n`);
    const digest = createHash("sha256").update(text).digest("hex");
    await this.add(MANIFEST, chunksOf(text));
    await this.add(`${MANIFEST}.sha256`, chunksOf(Buffer.from(`${digest}  ${MANIFEST}\n`)));
    if (sign !== undefined) await this.add(MAC, chunksOf(Buffer.from(sign(text))));
    await this.#write(Buffer.alloc(2 * BLOCK), this.#at);
    await this.#file.sync();
    await this.#file.close();
    await rename(this.#part, this.#path);
    await using folder = await open(dirname(this.#path), "r");
    await folder.sync();
  }

  /** Without `finish` nothing is left. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close().catch(() => undefined);
    await rm(this.#part, { force: true });
  }

  async #write(data: Uint8Array, at: number): Promise<void> {
    for (let done = 0; done < data.length;) {
      const { bytesWritten } = await this.#file
        .write(data, done, data.length - done, at + done)
        .catch((error: NodeJS.ErrnoException) => {
          throw error.code === "ENOSPC" || error.code === "EDQUOT" ? full(this.#path) : error;
        });
      done += bytesWritten;
    }
  }
}

export class ArchiveReader implements AsyncDisposable {
  readonly #path: string;
  readonly #file: FileHandle;
  readonly #entries: readonly Entry[];

  private constructor(path: string, file: FileHandle, entries: readonly Entry[]) {
    this.#path = path;
    this.#file = file;
    this.#entries = entries;
  }

  static async open(path: string): Promise<ArchiveReader> {
    const file = await open(path, "r");
    try {
      return new ArchiveReader(path, file, await readEntries(file, path));
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** The text of what was given to `finish`, unless it is damaged. */
  async manifest(): Promise<Buffer> {
    const text = await this.text(MANIFEST, MANIFEST_MAX_BYTES);
    const [digest] = (await this.text(`${MANIFEST}.sha256`, BLOCK)).toString("utf8").split(" ");
    if (createHash("sha256").update(text).digest("hex") !== digest)
      throw damaged(this.#path, "its manifest was changed");
    return text;
  }

  /** What `sign` has made of the manifest; undefined where the backup is from before that. */
  async mac(): Promise<string | undefined> {
    if (!this.#entries.some(({ name }) => name === MAC)) return undefined;
    return (await this.text(MAC, MAC_MAX_BYTES)).toString("latin1");
  }

  async text(name: string, maxBytes: number): Promise<Buffer> {
    if (this.#entry(name).bytes > maxBytes) throw damaged(this.#path, `${name} is too long`);
    const chunks: Buffer[] = [];
    for await (const chunk of this.content(name)) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  /** Throws where it is not the one of the manifest. */
  async check(content: Content): Promise<void> {
    for await (const _ of this.checked(content));
  }

  /** Its bytes. Throws at their end where they are not those of the manifest: the file may have changed since it was checked. */
  async *checked({ name, bytes, sha256 }: Content): AsyncGenerator<Buffer> {
    const hash = createHash("sha256");
    for await (const chunk of this.content(name)) {
      hash.update(chunk);
      yield chunk;
    }
    if (this.#entry(name).bytes !== bytes || hash.digest("hex") !== sha256)
      throw damaged(this.#path, `${name} is not what was written`);
  }

  async *content(name: string): AsyncGenerator<Buffer> {
    const { at, bytes } = this.#entry(name);
    for (let done = 0; done < bytes;) {
      const length = Math.min(COPY_BYTES, bytes - done);
      const { bytesRead, buffer } = await this.#file.read(Buffer.alloc(length), 0, length, at + done);
      if (bytesRead === 0) throw damaged(this.#path, "it ends too early");
      yield buffer.subarray(0, bytesRead);
      done += bytesRead;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }

  #entry(name: string): Entry {
    const found = this.#entries.find((entry) => entry.name === name);
    if (found === undefined) throw damaged(this.#path, `${name} is missing; it may have been cut off`);
    return found;
  }
}

async function* chunksOf(data: Buffer): AsyncGenerator<Buffer> {
  yield data;
}

async function readEntries(file: FileHandle, path: string): Promise<Entry[]> {
  const { size } = await file.stat();
  const entries: Entry[] = [];
  for (let at = 0; at + BLOCK <= size;) {
    const header = Buffer.alloc(BLOCK);
    await file.read(header, 0, BLOCK, at);
    if (header.every((byte) => byte === 0)) break;
    if (checksumOf(header) !== Number.parseInt(header.toString("latin1", 148, 155), 8))
      throw damaged(path, "it is no backup, or was changed");
    const bytes = Number(header.readBigUInt64BE(128));
    if (at + BLOCK + bytes > size) throw damaged(path, "it ends too early");
    const name = header.toString("latin1", 0, Math.min(header.indexOf(0), NAME_BYTES));
    // Nothing is ever written under a name of the archive; that one of another kind is there shows that it is not ours.
    if (header[TYPE_AT] !== REGULAR_FILE || !NAME.test(name)) throw damaged(path, "it is no backup");
    if (entries.some((entry) => entry.name === name)) throw damaged(path, `it has ${name} twice`);
    if (entries.length === ENTRIES_MAX) throw damaged(path, "it has more parts than a backup");
    entries.push({ name, bytes, at: at + BLOCK });
    at += BLOCK + Math.ceil(bytes / BLOCK) * BLOCK;
  }
  return entries;
}

/** The size is written in binary, which has no bound of 8 GiB. */
function tarHeader(name: string, bytes: number): Buffer {
  if (Buffer.byteLength(name) >= NAME_BYTES) throw new Error(`${name} is too long for a name in an archive`);
  const header = Buffer.alloc(BLOCK);
  header.write(name, 0);
  header.write("0000600\0", 100);
  header.write("0000000\0", 108);
  header.write("0000000\0", 116);
  header.writeUInt8(0x80, 124);
  header.writeBigUInt64BE(BigInt(bytes), 128);
  header.write(`${Math.floor(Date.now() / 1_000).toString(8)}\0`, 136);
  header.write("0", 156);
  header.write("ustar  \0", 257);
  header.write(`${checksumOf(header).toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}

/** Of all bytes, with blanks where it stands itself. */
function checksumOf(header: Buffer): number {
  return header.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 0x20 : byte), 0);
}

function damaged(path: string, why: string): CliError {
  return new CliError("backup_damaged", `${path} cannot be restored: ${why}.`, {
    remediation: "Nothing was changed. Restore an older backup, or another copy of this one.",
  });
}

function full(path: string): CliError {
  return new CliError("disk_full", `The disk of ${path} is full.`, {
    remediation: "Nothing of the backup was left there. Make room, or write it elsewhere.",
  });
}
