import type { SandboxMode } from "@skerry/contract/sandboxes/sandbox-status";
import type { Size } from "@skerry/contract/sizes";
import type { Amounts } from "../capacity/check-quotas.ts";

/**
 * Quotas that a sandbox takes beside the memory and the CPUs of its size, as `capacity_entries_of` counts
 * them in the database.
 */
export function sandboxQuotas({
  mode,
  diskGib,
  size,
}: {
  readonly mode: SandboxMode;
  readonly diskGib: number;
  readonly size: Size;
}): Partial<Amounts> {
  return {
    sandboxes: 1,
    disk_gib: diskGib,
    ...(mode === "persistent" && { persistent_disk_gib: pausedDiskGib(diskGib, size.memory_mib) }),
  };
}

/** What a sandbox takes of a disk while it is paused: its own, and a file as large as its memory. */
export function pausedDiskGib(diskGib: number, memoryMib: number): number {
  return diskGib + Math.ceil(memoryMib / 1_024);
}
