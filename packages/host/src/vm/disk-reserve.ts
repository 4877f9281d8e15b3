import { statfs } from "node:fs/promises";
import { SkerryError } from "@skerry/contract/errors";

/** Below this the host takes no new VM: a full disk would stop all that run on it. */
const DISK_RESERVE_BYTES = 2 * 1024 ** 3;

export async function refuseWhenDiskIsLow(folder: string): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const freeBytes = bavail * bsize;
  if (freeBytes >= DISK_RESERVE_BYTES) return;
  throw new SkerryError("no_capacity", "The host's disk is nearly full.", {
    remediation: "Free space on the host, or destroy sandboxes that have written much.",
    context: { free_bytes: freeBytes, reserve_bytes: DISK_RESERVE_BYTES },
    retryAfterS: 60,
  });
}
