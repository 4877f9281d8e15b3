// A full disk would stop all VMs that run on a host, so nothing new may fill it: neither before it begins nor
// while it comes in.

import { statfs } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { SkerryError } from "@skerry/contract/errors";

/** Below this the host takes no new VM. */
const DISK_RESERVE_BYTES = 2 * 1024 ** 3;
/** What may come in between two looks. */
const LOOK_EVERY_BYTES = 16 * 1024 ** 2;
const LOOK_EVERY_MS = 500;

export async function checkDiskReserve(folder: string): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const freeBytes = bavail * bsize;
  if (freeBytes >= DISK_RESERVE_BYTES) return;
  throw new SkerryError("no_capacity", "The host's disk is nearly full.", {
    remediation: "Free space on the host, or destroy VMs that have written much.",
    context: { free_bytes: freeBytes, reserve_bytes: DISK_RESERVE_BYTES },
    retryAfterS: 60,
  });
}

/** The same bytes, as long as the disk has room for them. */
export async function* withinDiskReserve(
  folder: string,
  content: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let unseenBytes = LOOK_EVERY_BYTES;
  for await (const part of content) {
    unseenBytes += part.length;
    if (unseenBytes >= LOOK_EVERY_BYTES) {
      await checkDiskReserve(folder);
      unseenBytes = 0;
    }
    yield part;
  }
}

/** Rejects when the disk is low, for what others write to it. */
export async function watchDiskReserve(folder: string, signal: AbortSignal): Promise<never> {
  for (;;) {
    await checkDiskReserve(folder);
    await sleep(LOOK_EVERY_MS, undefined, { signal });
  }
}
