// A disk file as a stream in which holes and zeros cost nothing: its size, then each block that holds
// something behind its number. The same content is always the same stream, so the stream's SHA-256 names the
// content.
//
//   u64 size · { u32 block number · block }…      little-endian; blocks of 64 KiB, the last one filled up with zeros

import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { runProgram } from "../../system/run.ts";
import { SyncedWriter } from "./synced-writer.ts";

const BLOCK_BYTES = 64 * 1024;
const READ_BLOCKS = 16;
const SIZE_BYTES = 8;
const NUMBER_BYTES = 4;
const RANGES_DEADLINE_MS = 30_000;
const zeros = Buffer.alloc(BLOCK_BYTES);

/** The received stream is not a layer, or not the announced one. */
export class LayerFault extends Error {
  override readonly name = "LayerFault";
}

/** `dataRanges`: the program that knows where the file has holes. */
export async function* layerStream(file: string, dataRanges: string): AsyncGenerator<Buffer> {
  await using handle = await open(file, "r");
  const { size } = await handle.stat();
  yield headOf(size);
  const listed = await runProgram(dataRanges, [file], { deadlineMs: RANGES_DEADLINE_MS });
  let next = 0;
  for (const line of listed.split("\n").filter(Boolean)) {
    const [from = 0, length = 0] = line.split(" ").map(Number);
    const end = Math.ceil((from + length) / BLOCK_BYTES);
    for (next = Math.max(next, Math.floor(from / BLOCK_BYTES)); next < end;) {
      const count = Math.min(READ_BLOCKS, end - next);
      const chunk = Buffer.alloc(count * BLOCK_BYTES);
      await handle.read(chunk, 0, chunk.length, next * BLOCK_BYTES);
      yield* blocksOf(chunk, next);
      next += count;
    }
  }
}

/** An allocated block may be as empty as a hole. */
function* blocksOf(chunk: Buffer, first: number): Generator<Buffer> {
  for (let at = 0; at < chunk.length; at += BLOCK_BYTES) {
    const block = chunk.subarray(at, at + BLOCK_BYTES);
    if (block.equals(zeros)) continue;
    const number = Buffer.alloc(NUMBER_BYTES);
    number.writeUInt32LE(first + at / BLOCK_BYTES);
    yield number;
    yield block;
  }
}

export async function layerDigest(file: string, dataRanges: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const part of layerStream(file, dataRanges)) hash.update(part);
  return hash.digest("hex");
}

/** The stream of a file of this size that holds nothing. */
export async function* emptyLayer(sizeBytes: number): AsyncGenerator<Buffer> {
  yield headOf(sizeBytes);
}

function headOf(sizeBytes: number): Buffer {
  const head = Buffer.alloc(SIZE_BYTES);
  head.writeBigUInt64LE(BigInt(sizeBytes));
  return head;
}

/** The digest that a layer must have, absent where it is made here, and the most bytes of its file. */
export interface LayerClaim {
  readonly digest?: string;
  readonly maxBytes: number;
}

/** Writes the layer to `file`, which must not exist, and resolves with its digest when it is on the disk. Rejects with
 *  LayerFault where it is another one; then the caller removes what was written. */
export async function writeLayer(
  file: string,
  { digest, maxBytes }: LayerClaim,
  content: AsyncIterable<Uint8Array>,
): Promise<string> {
  const hash = createHash("sha256");
  await using handle = await open(file, "wx", 0o600);
  const writer = new SyncedWriter(handle);
  let pending = Buffer.alloc(0);
  let size: number | undefined;
  let last = -1;
  for await (const part of content) {
    hash.update(part);
    pending = pending.length === 0 ? Buffer.from(part) : Buffer.concat([pending, part]);
    if (size === undefined) {
      if (pending.length < SIZE_BYTES) continue;
      size = readSize(pending, maxBytes);
      await handle.truncate(size);
      pending = pending.subarray(SIZE_BYTES);
    }
    while (pending.length >= NUMBER_BYTES + BLOCK_BYTES) {
      const number = pending.readUInt32LE();
      // In order and each once, so that the stream is as long as the file at most.
      if (number <= last || number * BLOCK_BYTES >= size) throw new LayerFault("a block is out of place");
      last = number;
      const at = number * BLOCK_BYTES;
      const end = NUMBER_BYTES + Math.min(BLOCK_BYTES, size - at);
      await writer.write(pending.subarray(NUMBER_BYTES, end), at);
      pending = pending.subarray(NUMBER_BYTES + BLOCK_BYTES);
    }
  }
  if (size === undefined || pending.length > 0) throw new LayerFault("it breaks off");
  const found = hash.digest("hex");
  if (digest !== undefined && found !== digest) throw new LayerFault("its content is another");
  await handle.chmod(0o444);
  await writer.end();
  return found;
}

function readSize(head: Buffer, maxBytes: number): number {
  const size = head.readBigUInt64LE();
  if (size > BigInt(maxBytes)) throw new LayerFault("it is too large");
  return Number(size);
}
