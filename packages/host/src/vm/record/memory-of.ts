// What the memory of a VM is a private copy of.

import { dirname, join } from "node:path";
import type { BackingFiles } from "../disk/backing-files.ts";
import { emptyMemory } from "../qemu/empty-memory.ts";

/** The frozen template's memory file, or one without data for a guest that came without a template: one that booted by itself, or that brought
 *  its memory along from another host. */
export type MemoryOf = "template" | "own";

/** In the folder of a frozen template. */
export const TEMPLATE_MEMORY = "memory";

export async function memoryOf(
  { emptyMemoryFolder }: { readonly emptyMemoryFolder: string },
  { memory_of, below }: { readonly memory_of: MemoryOf; readonly below: BackingFiles },
  memoryMib: number,
): Promise<string> {
  if (memory_of === "template") return join(dirname(below.frozen_disk), TEMPLATE_MEMORY);
  return emptyMemory(emptyMemoryFolder, memoryMib);
}
