// Removes folders, and nothing through a mount: what is mounted below a folder is not ours.

import { readFile, realpath, rm } from "node:fs/promises";
import { sep } from "node:path";
import { runProgram } from "./run.ts";

const UNMOUNT_DEADLINE_MS = 10_000;
/** The kernel ends a killed program's children a moment after it, and they may write until then. */
const ENDING = { maxRetries: 10, retryDelay: 20 } as const;

/** Succeeds also where there is nothing. Throws where something is mounted at the path or below it. */
export async function removeTree(path: string): Promise<void> {
  const [mounted] = await mountsBelow(path);
  if (mounted !== undefined)
    throw new Error(`${mounted} is mounted, so ${path} was not removed; unmount it first`);
  await rm(path, { recursive: true, force: true, ...ENDING });
}

/** The same for a folder that only a program of ours worked in. What is mounted there is that program's: earlier versions let them mount on the machine. */
export async function removeWorkFolder(path: string): Promise<void> {
  // The last one first: it may be mounted on one before it.
  for (const mounted of (await mountsBelow(path)).toReversed())
    await runProgram("umount", ["--lazy", "--no-canonicalize", mounted], { deadlineMs: UNMOUNT_DEADLINE_MS });
  await removeTree(path);
}

/** For a `finally`, where the error of the work itself must not be lost: what stays is swept later, and then told in the log. */
export function discardWorkFolder(path: string): Promise<void> {
  return removeWorkFolder(path).catch(() => undefined);
}

/** In the order in which they were mounted. */
async function mountsBelow(path: string): Promise<string[]> {
  const real = await realpath(path).catch(() => undefined);
  if (real === undefined) return [];
  const mounts = (await readFile("/proc/self/mountinfo", "utf8")).split("\n").map(mountPoint);
  return mounts.filter((point) => point === real || point.startsWith(real + sep));
}

/** Of a line of mountinfo(5), which writes blanks and backslashes as octal numbers. */
function mountPoint(line: string): string {
  const [, , , , point = ""] = line.split(" ");
  return point.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}
