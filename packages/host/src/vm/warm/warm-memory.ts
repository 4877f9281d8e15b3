// How much memory clones may take that only wait.

import { readFile } from "node:fs/promises";
import { memoryOf } from "../../usage.ts";

/** With less of the machine's memory left nothing waits in it. */
const AVAILABLE_MIN_SHARE = 0.1;

export interface MemoryUse {
  /** For waiting clones at most, MiB. */
  readonly budgetMib: number;
  /** For all VMs, MiB. */
  readonly capacityMib: number;
  /** Of VMs that run or begin, MiB. */
  readonly usedMib: number;
}

/** MiB that waiting guests may have: none that a VM could ask for, and none on a machine whose memory is
 *  short. */
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
