// The log files. Their folder is root's alone, and no link in it is followed: control and PostgreSQL get their log as an open file.

import { constants, type Stats } from "node:fs";
import { lstat, open, rm, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Layout } from "./layout.ts";

export type LogName = "control" | "host" | "postgres" | "supervisor";

const LOG_NAMES: readonly LogName[] = ["control", "host", "postgres", "supervisor"];
const LOG_MODE = 0o640;
const LOG_MAX_BYTES = 64 * 1024 * 1024;
const TAIL_BYTES = 2_000;
const TAIL_LINES = 8;

export async function openLog(layout: Layout, name: LogName): Promise<FileHandle> {
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;
  return open(fileOf(layout, name), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, LOG_MODE);
}

/** A log that has grown too large keeps its beginning in FILE.1. Writers append to the file that they have open, so it is copied and
 *  truncated; what they write between the two is lost. */
export async function rotateLogs(layout: Layout): Promise<void> {
  for (const name of LOG_NAMES) {
    const file = fileOf(layout, name);
    const found = await lstat(file).catch(() => undefined);
    if (isTooLarge(found)) await rotate(file);
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

function isTooLarge(found: Stats | undefined): boolean {
  return found !== undefined && found.isFile() && found.size >= LOG_MAX_BYTES;
}

async function rotate(file: string): Promise<void> {
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_RDWR, O_WRONLY } = constants;
  await using log = await open(file, O_RDWR | O_NOFOLLOW);
  await rm(`${file}.1`, { force: true });
  await using kept = await open(`${file}.1`, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, LOG_MODE);
  await pipeline(
    log.createReadStream({ start: 0, autoClose: false }),
    kept.createWriteStream({ autoClose: false }),
  );
  await log.truncate();
}

async function tailOf(file: string): Promise<string> {
  await using log = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW);
  const { size } = await log.stat();
  const length = Math.min(size, TAIL_BYTES);
  const { buffer } = await log.read(Buffer.alloc(length), 0, length, size - length);
  return buffer.toString("utf8");
}
