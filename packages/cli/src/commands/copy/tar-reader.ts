// The entries of a tar archive as it comes. Its sender is not trusted: nothing is held in memory whose length it chooses, but for names, which
// are bounded.

import {
  BLOCK_BYTES,
  isAboutNext,
  paddingOf,
  readHeader,
  TarFormatError,
  textOf,
  type TarHeader,
} from "@skerry/sdk/folder/tar-header";

/** Of what is told about an entry before it. A path has at most 4,096 bytes; an archive of another tar may also have attributes there. */
const ABOUT_MAX_BYTES = 64 * 1024;

export interface TarEntry extends TarHeader {
  /** What of it is not read is passed over. */
  readonly content: AsyncIterable<Uint8Array>;
}

export async function* readTar(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<TarEntry, void> {
  const bytes = new ByteReader(chunks);
  let about: Partial<TarHeader> = {};
  try {
    for (;;) {
      const header = readHeader(await bytes.exactly(BLOCK_BYTES));
      if (header === undefined) break;
      if (isAboutNext(header.type)) {
        about = { ...about, ...(await readAbout(bytes, header)) };
        continue;
      }
      const entry = { ...header, ...about };
      about = {};
      const content = bytes.upTo(entry.bytes);
      yield { ...entry, content };
      for await (const _rest of content);
      await bytes.exactly(paddingOf(entry.bytes));
    }
    // Padding to the end, so that the sender can end.
    await bytes.drain();
  } finally {
    await bytes.close();
  }
}

async function readAbout(bytes: ByteReader, { type, bytes: length }: TarHeader): Promise<Partial<TarHeader>> {
  if (length > ABOUT_MAX_BYTES) throw new TarFormatError("it has a name that is too long");
  const data = await bytes.exactly(length);
  await bytes.exactly(paddingOf(length));
  if (type === "long name") return { name: textOf(data) };
  if (type === "long link name") return { target: textOf(data) };
  // What is told about all entries is of no use here.
  return type === "pax" ? readPax(data) : {};
}

/** Records `LENGTH KEY=VALUE\n`, of which the length counts all of it. */
function readPax(data: Buffer): Partial<TarHeader> {
  const found: { name?: string; target?: string; bytes?: number } = {};
  for (let at = 0; at < data.length;) {
    const blank = data.indexOf(0x20, at);
    const length = blank < 0 ? 0 : Number(data.toString("latin1", at, blank));
    if (!Number.isInteger(length) || length <= blank - at || at + length > data.length)
      throw new TarFormatError("it has a header that cannot be");
    const record = data.subarray(blank + 1, at + length - 1);
    const split = record.indexOf(0x3d);
    const key = record.toString("latin1", 0, Math.max(0, split));
    const value = record.subarray(split + 1);
    if (key === "path") found.name = textOf(value);
    if (key === "linkpath") found.target = textOf(value);
    if (key === "size") found.bytes = sizeOf(textOf(value));
    at += length;
  }
  return found;
}

function sizeOf(text: string): number {
  const size = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(size)) throw new TarFormatError("it has a number that cannot be");
  return size;
}

/** Gives what comes in chunks in the pieces that are asked for. */
class ByteReader {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = new Uint8Array();

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** `length` is bounded by the caller. */
  async exactly(length: number): Promise<Buffer> {
    const parts: Uint8Array[] = [];
    for await (const part of this.upTo(length)) parts.push(part);
    return Buffer.concat(parts);
  }

  /** So many bytes, one time; a second reading goes on where the first one broke off. */
  upTo(length: number): AsyncIterable<Uint8Array> {
    let left = length;
    const next = async (): Promise<IteratorResult<Uint8Array>> => {
      if (left === 0) return { done: true, value: undefined };
      const part = await this.#part(left);
      left -= part.length;
      return { done: false, value: part };
    };
    return { [Symbol.asyncIterator]: () => ({ next }) };
  }

  async drain(): Promise<void> {
    while ((await this.#chunks.next()).done !== true);
  }

  /** Tells the sender that nothing more is wanted. */
  async close(): Promise<void> {
    await this.#chunks.return?.();
  }

  async #part(most: number): Promise<Uint8Array> {
    while (this.#rest.length === 0) {
      const { done, value } = await this.#chunks.next();
      if (done === true) throw new TarFormatError("it ends too early");
      this.#rest = value;
    }
    const part = this.#rest.subarray(0, most);
    this.#rest = this.#rest.subarray(part.length);
    return part;
  }
}
