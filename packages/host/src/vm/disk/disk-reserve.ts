// Keeps a reserve of disk space, because a full disk would stop all VMs of a host. A new VM is refused below
// the reserve, also while its disk is being received.

import { statfs } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { SkerryError } from "@skerry/contract/errors";

/** Below this the host takes no new VM. */
const DISK_RESERVE_BYTES = 2 * 1024 ** 3;
/** What a build has to find beyond that: where the disk fills up, builds are refused before VMs are. */
export const BUILD_ALLOWANCE_BYTES = 2 * 1024 ** 3;
/** Beyond the reserve, below which builds are ended: those that run have the rest of what they have found. */
export const KEPT_FREE_BYTES = BUILD_ALLOWANCE_BYTES / 2;
/** Bytes that may be written between two checks. */
const LOOK_EVERY_BYTES = 16 * 1024 ** 2;
const LOOK_EVERY_MS = 500;

/** Throws `no_capacity` where the reserve is reached, or would be with `plannedBytes` more. */
export async function checkDiskReserve(folder: string, plannedBytes = 0): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const freeBytes = bavail * bsize;
  if (freeBytes - plannedBytes >= DISK_RESERVE_BYTES) return;
  throw new SkerryError("no_capacity", "The host's disk is nearly full.", {
    remediation: "Free space on the host, or destroy VMs that have written much.",
    context: {
      free_bytes: freeBytes,
      reserve_bytes: DISK_RESERVE_BYTES,
      ...(plannedBytes > 0 && { needed_bytes: plannedBytes }),
    },
    retryAfterS: 60,
  });
}

/** Passes the bytes on, and rejects once the reserve is reached. */
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

/** Rejects when the reserve is reached by writes of other processes. */
export async function watchDiskReserve(folder: string, signal: AbortSignal): Promise<never> {
  for (;;) {
    await checkDiskReserve(folder);
    await sleep(LOOK_EVERY_MS, undefined, { signal });
  }
}
