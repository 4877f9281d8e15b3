// What QEMU itself says: launch.c leads it into a file in the VM's folder.

import { open } from "node:fs/promises";
import { join } from "node:path";

export const QEMU_LOG = "qemu.log";
const TAIL_BYTES = 2_000;
/** KVM's internal error comes with the registers of each CPU. */
const LAST_WORDS_BYTES = 64 * 1024;

/** Its end, for people; a sentence where it is empty. */
export async function logTail(folder: string): Promise<string> {
  return (await endOfLog(folder, TAIL_BYTES)) || "it left no message";
}

/** What it ends with, in one line; empty where it says nothing. */
export async function lastWords(folder: string): Promise<string> {
  return lastWordsIn(await endOfLog(folder, LAST_WORDS_BYTES));
}

/** Behind KVM's own error there are only registers. */
export function lastWordsIn(log: string): string {
  const lines = log.trim().split("\n");
  const at = lines.findIndex((line) => line.startsWith("KVM internal error"));
  return at < 0 ? (lines.at(-1) ?? "") : lines.slice(at, at + 2).join(" ");
}

async function endOfLog(folder: string, mostBytes: number): Promise<string> {
  const log = await open(join(folder, QEMU_LOG), "r").catch(() => undefined);
  if (log === undefined) return "";
  try {
    const { size } = await log.stat();
    const buffer = Buffer.alloc(Math.min(size, mostBytes));
    await log.read(buffer, 0, buffer.length, size - buffer.length);
    return buffer.toString("utf8").trim();
  } finally {
    await log.close();
  }
}
