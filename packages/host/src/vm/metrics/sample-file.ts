// The samples of a VM: a ring of 24 h in one file of its folder. A sample's place follows from its minute, so nothing is moved, found or
// cut off, and a host that is killed here leaves a sample that fails its checksum.

import { constants } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import {
  SAMPLE_EVERY_MS,
  SAMPLES_KEPT_MS,
  type VmSample,
  type VmSamples,
} from "@skerry/contract/host-api/metrics";

/** Only the host's own user may write to it: no QEMU, and so no guest. */
export const SAMPLES_FILE = "samples";

const SAMPLES = SAMPLES_KEPT_MS / SAMPLE_EVERY_MS;
const MAGIC = 0x31_4d_4b_53; // "SKM1"
/** Magic, checksum, and the numbers as doubles: all are whole, and below 2^53. */
const HEAD_BYTES = 8;
const names = [
  "at_ms",
  "life",
  "age_ms",
  "cpu_ms",
  "memory_bytes",
  "disk_bytes",
  "disk_read_bytes",
  "disk_written_bytes",
  "network_received_bytes",
  "network_sent_bytes",
] as const satisfies readonly (keyof VmSample)[];
const SAMPLE_BYTES = HEAD_BYTES + names.length * 8;

/** In the place of what was measured a day before. What was never measured is a hole, and takes nothing of the disk. */
export async function writeSample(folder: string, sample: VmSample): Promise<void> {
  await using file = await openOwn(join(folder, SAMPLES_FILE), constants.O_WRONLY | constants.O_CREAT);
  await file.write(encoded(sample), 0, SAMPLE_BYTES, placeOf(sample.at_ms));
}

/** Since a time, with the last one before it, and of the last 24 h. */
export async function readSamples(folder: string, sinceMs: number, nowMs: number): Promise<VmSamples> {
  const bytes = await readRing(join(folder, SAMPLES_FILE));
  const items: VmSample[] = [];
  let damaged = 0;
  for (let at = 0; at < bytes.length; at += SAMPLE_BYTES) {
    const part = bytes.subarray(at, at + SAMPLE_BYTES);
    if (part.every((byte) => byte === 0)) continue;
    const sample = decoded(part);
    if (sample === undefined) damaged += 1;
    // Of another lap, or from before the clock was set back.
    else if (sample.at_ms > nowMs - SAMPLES_KEPT_MS && sample.at_ms <= nowMs) items.push(sample);
  }
  items.sort((one, other) => one.at_ms - other.at_ms);
  const first = items.findIndex(({ at_ms }) => at_ms >= sinceMs);
  return { items: first < 0 ? items.slice(-1) : items.slice(Math.max(0, first - 1)), damaged };
}

function placeOf(atMs: number): number {
  return (Math.floor(atMs / SAMPLE_EVERY_MS) % SAMPLES) * SAMPLE_BYTES;
}

function encoded(sample: VmSample): Buffer {
  const bytes = Buffer.alloc(SAMPLE_BYTES);
  bytes.writeUInt32LE(MAGIC, 0);
  for (const [index, name] of names.entries()) bytes.writeDoubleLE(sample[name], HEAD_BYTES + index * 8);
  bytes.writeUInt32LE(crc32(bytes.subarray(HEAD_BYTES)), 4);
  return bytes;
}

function decoded(bytes: Buffer): VmSample | undefined {
  if (bytes.length !== SAMPLE_BYTES || bytes.readUInt32LE(0) !== MAGIC) return undefined;
  if (bytes.readUInt32LE(4) !== crc32(bytes.subarray(HEAD_BYTES))) return undefined;
  const numbers = names.map((_, index) => bytes.readDoubleLE(HEAD_BYTES + index * 8));
  if (!numbers.every((number) => Number.isSafeInteger(number) && number >= 0)) return undefined;
  // Object.fromEntries forgets which names it was given.
  return Object.fromEntries(names.map((name, index) => [name, numbers[index]])) as unknown as VmSample;
}

/** The folder is this user's alone, and has sockets and files of a QEMU in it. What is not a file of ours is none of what was measured. */
async function openOwn(path: string, flags: number): Promise<FileHandle> {
  const file = await open(path, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK, 0o600);
  const stats = await file.stat();
  if (stats.isFile() && stats.nlink === 1 && stats.uid === process.getuid?.()) return file;
  await file.close();
  throw new Error(`${path} is not a file of this user's`);
}

/** No more of it than can be ours; nothing where there is none. */
async function readRing(path: string): Promise<Buffer> {
  try {
    await using file = await openOwn(path, constants.O_RDONLY);
    const bytes = Buffer.alloc(SAMPLES * SAMPLE_BYTES);
    const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
    return bytes.subarray(0, bytesRead);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return Buffer.alloc(0);
    throw error;
  }
}
