// All of a saved guest's memory in one file: its pages lie over the memory that it was started from, which is this host's own. On another host there
// is no such memory, so what is sent holds all pages that are not zero, in the form of native/memory-pages.h, over a file without data.

import { open, type FileHandle } from "node:fs/promises";

const MAGIC = "SKRYMEM1";
const HEAD_BYTES = 24;
const RUN_BYTES = 24;
const PAGE_BYTES = 4096;
/** As changed-pages.c: a few pages more are cheaper than another mapping. */
const GAP_PAGES = 8;
const WINDOW_BYTES = 1024 * 1024;
/** More runs than pages of the largest guest. */
const RUNS_MAX = 64 * 1024 * 1024;

interface Run {
  readonly memoryAt: number;
  readonly bytes: number;
  /** In the file of pages. */
  readonly at: number;
}

const zeros = Buffer.alloc(WINDOW_BYTES);

/** The most bytes that such a file of a guest with so much memory has: each page in a run of its own. */
export function pagesFileMaxBytes(memoryBytes: number): number {
  const table = HEAD_BYTES + (memoryBytes / PAGE_BYTES) * RUN_BYTES;
  return memoryBytes + Math.ceil(table / PAGE_BYTES) * PAGE_BYTES;
}

/** `pages`: what the guest has changed of `base`. Throws where that is not such a file. All of it is read once before this resolves, and once more for
 *  what is sent. */
export async function wholeMemory(pages: string, base: string): Promise<AsyncIterable<Buffer>> {
  await using changed = await open(pages, "r");
  await using started = await open(base, "r");
  const runs = await (await Memory.open(changed, started)).runs();
  return content(pages, base, runs);
}

type Place = Pick<Run, "memoryAt" | "bytes">;

async function* content(pages: string, base: string, runs: readonly Place[]): AsyncGenerator<Buffer> {
  await using changed = await open(pages, "r");
  await using started = await open(base, "r");
  const memory = await Memory.open(changed, started);
  yield headOf(memory.bytes, runs);
  for (const run of runs) {
    for (let done = 0; done < run.bytes; done += WINDOW_BYTES)
      yield memory.read(run.memoryAt + done, Math.min(WINDOW_BYTES, run.bytes - done));
  }
}

/** The memory as the guest sees it. */
class Memory {
  readonly bytes: number;
  readonly #changed: FileHandle;
  readonly #base: FileHandle;
  readonly #over: readonly Run[];

  private constructor(bytes: number, files: { changed: FileHandle; base: FileHandle; over: readonly Run[] }) {
    this.bytes = bytes;
    this.#changed = files.changed;
    this.#base = files.base;
    this.#over = files.over;
  }

  static async open(changed: FileHandle, base: FileHandle): Promise<Memory> {
    const head = await readAll(changed, 0, HEAD_BYTES);
    const bytes = Number(head.readBigUInt64LE(8));
    const count = Number(head.readBigUInt64LE(16));
    const isSane = head.toString("latin1", 0, 8) === MAGIC && bytes % PAGE_BYTES === 0 && count <= RUNS_MAX;
    if (!isSane) throw new Error("these are not the pages of a guest");
    if ((await base.stat()).size !== bytes)
      throw new Error("the memory that the guest was started from is another's");
    const table = await readAll(changed, HEAD_BYTES, count * RUN_BYTES);
    const over = Array.from({ length: count }, (_, index) => runAt(table, index * RUN_BYTES));
    if (over.some(({ memoryAt, bytes: length }) => memoryAt + length > bytes))
      throw new Error("a run of pages lies outside of the guest's memory");
    return new Memory(bytes, { changed, base, over: over.toSorted((a, b) => a.memoryAt - b.memoryAt) });
  }

  async read(at: number, length: number): Promise<Buffer> {
    const window = await readAll(this.#base, at, length);
    for (let index = this.#firstOver(at); index < this.#over.length; index += 1) {
      const run = this.#over[index];
      if (run === undefined || run.memoryAt >= at + length) break;
      const from = Math.max(at, run.memoryAt);
      const to = Math.min(at + length, run.memoryAt + run.bytes);
      (await readAll(this.#changed, run.at + from - run.memoryAt, to - from)).copy(window, from - at);
    }
    return window;
  }

  /** The first run that ends behind this place. */
  #firstOver(at: number): number {
    let [low, high] = [0, this.#over.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const run = this.#over[middle];
      if (run !== undefined && run.memoryAt + run.bytes <= at) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** What is not zero. Their places in the file follow from their order. */
  async runs(): Promise<Place[]> {
    const runs: { memoryAt: number; bytes: number }[] = [];
    for (let at = 0; at < this.bytes; at += WINDOW_BYTES) {
      const window = await this.read(at, Math.min(WINDOW_BYTES, this.bytes - at));
      if (window.equals(zeros.subarray(0, window.length))) continue;
      for (let page = 0; page < window.length; page += PAGE_BYTES) {
        if (window.subarray(page, page + PAGE_BYTES).equals(zeros.subarray(0, PAGE_BYTES))) continue;
        const last = runs.at(-1);
        const end = at + page + PAGE_BYTES;
        if (last !== undefined && at + page - (last.memoryAt + last.bytes) <= GAP_PAGES * PAGE_BYTES)
          last.bytes = end - last.memoryAt;
        else runs.push({ memoryAt: at + page, bytes: PAGE_BYTES });
      }
    }
    return runs;
  }
}

function runAt(table: Buffer, offset: number): Run {
  const [memoryAt, bytes, at] = [0, 8, 16].map((field) => Number(table.readBigUInt64LE(offset + field)));
  return { memoryAt: memoryAt ?? 0, bytes: bytes ?? 0, at: at ?? 0 };
}

function headOf(memoryBytes: number, runs: readonly Place[]): Buffer {
  const indexBytes = HEAD_BYTES + runs.length * RUN_BYTES;
  let at = Math.ceil(indexBytes / PAGE_BYTES) * PAGE_BYTES;
  const head = Buffer.alloc(at);
  head.write(MAGIC, "latin1");
  head.writeBigUInt64LE(BigInt(memoryBytes), 8);
  head.writeBigUInt64LE(BigInt(runs.length), 16);
  for (const [index, { memoryAt, bytes }] of runs.entries()) {
    const offset = HEAD_BYTES + index * RUN_BYTES;
    for (const [field, value] of [memoryAt, bytes, at].entries())
      head.writeBigUInt64LE(BigInt(value), offset + 8 * field);
    at += bytes;
  }
  return head;
}

async function readAll(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  for (let done = 0; done < length;) {
    const { bytesRead } = await file.read(buffer, done, length - done, at + done);
    if (bytesRead === 0) throw new Error("a file of memory ends too early");
    done += bytesRead;
  }
  return buffer;
}
