// The memory that warm clones may use.

import { readFile } from "node:fs/promises";
import { memoryOf } from "../../system/usage.ts";

/** With less free memory than this no warm clones are kept. */
const AVAILABLE_MIN_SHARE = 0.1;

export interface MemoryUse {
  /** The most for warm clones, MiB. */
  readonly budgetMib: number;
  /** For all VMs, MiB. */
  readonly capacityMib: number;
  /** Used by VMs that run or are being created, MiB. */
  readonly usedMib: number;
}

/** MiB that warm clones may use: none that a VM may request, and none on a machine whose memory is short. */
export async function warmMemoryMib(use: MemoryUse): Promise<number> {
  return isShort(await readFile("/proc/meminfo", "utf8"))
    ? 0
    : Math.max(0, Math.min(use.budgetMib, use.capacityMib - use.usedMib));
}

/** `meminfo` is the text of /proc/meminfo. */
export function isShort(meminfo: string): boolean {
  const { memory_bytes, memory_available_bytes } = memoryOf(meminfo);
  return memory_available_bytes < memory_bytes * AVAILABLE_MIN_SHARE;
}
