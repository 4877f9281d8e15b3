// The log files. Their folder is root's alone, and no link in it is followed: control and PostgreSQL get their log as an open file.

import { constants } from "node:fs";
import { lstat, open, rename, rm, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import type { Layout } from "../system/layout.ts";

export type LogName = "control" | "host" | "postgres" | "supervisor";

const LOG_NAMES: readonly LogName[] = ["control", "host", "postgres", "supervisor"];
const LOG_MODE = 0o640;
/** At the fastest a control plane writes a few MB a second, and the supervisor looks every few seconds. */
const bounds: LogBounds = { maxBytes: 32 * 1024 * 1024, kept: 4 };
const COPY_BYTES = 1024 * 1024;
const TAIL_BYTES = 2_000;
const TAIL_LINES = 8;

export interface LogBounds {
  /** A log that has grown beyond it is rotated. */
  readonly maxBytes: number;
  /** How many files of what was before are kept: FILE.1 is the newest. */
  readonly kept: number;
}

export async function openLog(layout: Layout, name: LogName): Promise<FileHandle> {
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;
  return open(fileOf(layout, name), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, LOG_MODE);
}

/** A log that has grown too large goes on empty, and what it held is in FILE.1. Writers append to the file that they have open, so
 *  it is copied and truncated; what they write in the instant between the end of the copy and the cut is lost. */
export async function rotateLogs(layout: Layout, { maxBytes, kept }: LogBounds = bounds): Promise<void> {
  for (const name of LOG_NAMES) {
    const file = fileOf(layout, name);
    const found = await lstat(file).catch(() => undefined);
    if (found?.isFile() === true && found.size >= maxBytes) await rotate(file, kept);
  }
}

/** The last lines of these logs, each under the name of its file. */
export async function lastLines(layout: Layout, names: readonly LogName[]): Promise<string[]> {
  const tails = await Promise.all(
    names.map(async (name) => {
      const file = fileOf(layout, name);
      const text = await tailOf(file).catch(() => "");
      return text === "" ? [] : [`--- ${file}`, ...text.trimEnd().split("\n").slice(-TAIL_LINES)];
    }),
  );
  return tails.flat();
}

function fileOf(layout: Layout, name: LogName): string {
  return join(layout.logs, `${name}.log`);
}

async function rotate(file: string, kept: number): Promise<void> {
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_RDWR, O_WRONLY } = constants;
  await using log = await open(file, O_RDWR | O_NOFOLLOW);
  await rm(`${file}.${kept}`, { force: true });
  for (let number = kept - 1; number >= 1; number -= 1) {
    await rename(`${file}.${number}`, `${file}.${number + 1}`).catch(ignoreMissing);
  }
  await using before = await open(`${file}.1`, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, LOG_MODE);
  await copyAll(log, before);
  await log.truncate();
}

/** Until a read finds nothing new. */
async function copyAll(from: FileHandle, to: FileHandle): Promise<void> {
  const buffer = Buffer.alloc(COPY_BYTES);
  for (let at = 0; ;) {
    const { bytesRead } = await from.read(buffer, 0, buffer.length, at);
    if (bytesRead === 0) return;
    await to.writeFile(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
}

function ignoreMissing(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
}

async function tailOf(file: string): Promise<string> {
  await using log = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW);
  const { size } = await log.stat();
  const length = Math.min(size, TAIL_BYTES);
  const { buffer } = await log.read(Buffer.alloc(length), 0, length, size - length);
  return buffer.toString("utf8");
}
