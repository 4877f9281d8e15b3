// Reads what console-log.c writes: the end of a machine's console, in one file of bounded size that outlives
// QEMU and host. Positions count from the first byte ever written, so a reader keeps its position also when
// bytes were overwritten or QEMU was restarted meanwhile.

import { open, type FileHandle } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { PlacedPiece } from "@skerry/contract/host-api/timed-console";
import { ConsoleTimes } from "./console-times.ts";

export interface ConsoleQuery {
  /** How many of the last lines come first, where `from` says nothing else. */
  readonly lines: number;
  /** Position of the first byte. */
  readonly from?: number | undefined;
  /** Then what comes, until the file is removed or the signal aborts. */
  readonly follow: boolean;
}

interface Header {
  readonly ringBytes: number;
  readonly total: number;
  readonly writing: boolean;
  /** Where what the last QEMU has said begins. */
  readonly begun: number;
  /** How many times of positions were ever noted. */
  readonly times: number;
  /** Where in the file they are. */
  readonly timesAt: number;
}

const MAGIC = "SKRYLOG1";
const HEADER_BYTES = 48;
/** Length of a file of the version before, in which nothing was written yet. */
const HEADER_MIN_BYTES = 40;
const RING_AT = 4_096;
const RING_MAX_BYTES = 64 * 1024 * 1024;
const CHUNK_BYTES = 64 * 1024;
/** The writer may be about to overwrite the oldest bytes while we read them. */
const MARGIN_BYTES = 256 * 1024;
const FOLLOW_POLL_MS = 100;
const CLOSING_POLL_MS = 10;
const CLOSING_DEADLINE_MS = 1_000;
/** A panic says its name first, then what every CPU was doing. */
const END_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

/**
 * The bytes as they were written, in pieces; what is too old to be there is left out. The first piece is
 * empty, and says the position at which it begins.
 */
export async function* readConsole(
  file: string,
  { lines, from, follow }: ConsoleQuery,
  signal: AbortSignal,
): AsyncGenerator<PlacedPiece> {
  await using handle = await open(file, "r");
  const times = new ConsoleTimes(handle);
  let at = from === undefined ? await lineStart(handle, lines) : await startAt(handle, from);
  yield { bytes: Buffer.alloc(0), atMs: undefined, position: at };
  while (!signal.aborted) {
    const piece = await readFrom(handle, at);
    at = piece.next;
    if (piece.bytes.length > 0) {
      await times.refresh(await readHeader(handle));
      yield* times.split(piece.bytes, piece.next - piece.bytes.length);
    } else if (!follow || (await handle.stat()).nlink === 0) return;
    else await sleep(FOLLOW_POLL_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** The last words of a QEMU that has ended, once they are written; undefined where no console was kept. */
export async function consoleLogEnd(file: string): Promise<string | undefined> {
  try {
    await using handle = await open(file, "r");
    const end = performance.now() + CLOSING_DEADLINE_MS;
    while ((await readHeader(handle)).writing && performance.now() < end) await sleep(CLOSING_POLL_MS);
    const { total, begun } = await readHeader(handle);
    return (await readSpan(handle, Math.max(begun, total - END_BYTES), total)).toString("latin1");
  } catch {
    return undefined;
  }
}

async function readHeader(handle: FileHandle): Promise<Header> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0);
  const ringBytes = Number(buffer.readBigUInt64LE(8));
  const known = bytesRead >= HEADER_MIN_BYTES && buffer.toString("latin1", 0, 8) === MAGIC;
  if (!known || ringBytes > RING_MAX_BYTES)
    return { ringBytes: 1, total: 0, writing: false, begun: 0, times: 0, timesAt: 0 };
  const figures = [16, 24, 32, 40].map((at) => Number(buffer.readBigUInt64LE(at)));
  const [total = 0, writing = 0, begun = 0, times = 0] = figures;
  return { ringBytes, total, writing: writing !== 0, begun, times, timesAt: RING_AT + ringBytes };
}

function oldest({ total, ringBytes }: Header): number {
  return total <= ringBytes ? 0 : Math.max(0, total - ringBytes + MARGIN_BYTES);
}

/** A piece at this position, or where that has been overwritten at the oldest one that is left. */
async function readFrom(handle: FileHandle, wanted: number): Promise<{ bytes: Buffer; next: number }> {
  const header = await readHeader(handle);
  const at = Math.max(Math.min(wanted, header.total), oldest(header));
  const offset = at % header.ringBytes;
  const length = Math.min(CHUNK_BYTES, header.total - at, header.ringBytes - offset);
  if (length === 0) return { bytes: Buffer.alloc(0), next: at };
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, RING_AT + offset);
  // Overtaken while it was read: it is another lap's.
  const { total, ringBytes } = await readHeader(handle);
  if (total - ringBytes > at) return readFrom(handle, at);
  return { bytes: buffer.subarray(0, bytesRead), next: at + bytesRead };
}

/** A position that the console has not come to is of another one. */
async function startAt(handle: FileHandle, from: number): Promise<number> {
  const header = await readHeader(handle);
  return from > header.total ? oldest(header) : Math.max(from, oldest(header));
}

/** Where the last so many lines begin. One that has not ended yet counts. */
async function lineStart(handle: FileHandle, lines: number): Promise<number> {
  const header = await readHeader(handle);
  const first = oldest(header);
  let missing = lines;
  if (lines === 0) return header.total;
  for (let end = header.total; end > first;) {
    const start = Math.max(first, end - CHUNK_BYTES);
    const bytes = await readSpan(handle, start, end);
    for (let at = bytes.length - 1; at >= 0; at -= 1) {
      // The newline behind the last line begins no other one.
      if (bytes[at] !== NEWLINE || start + at === header.total - 1) continue;
      missing -= 1;
      if (missing === 0) return start + at + 1;
    }
    end = start;
  }
  return first;
}

async function readSpan(handle: FileHandle, start: number, end: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  for (let at = start; at < end;) {
    const { bytes, next } = await readFrom(handle, at);
    if (bytes.length === 0) break;
    parts.push(bytes.subarray(0, Math.max(0, end - (next - bytes.length))));
    at = next;
  }
  return Buffer.concat(parts);
}
