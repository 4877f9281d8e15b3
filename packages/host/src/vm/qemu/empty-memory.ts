// What the memory of a guest that starts from no template is a private copy of: a file as large as the memory that holds no data. With it
// every guest's memory is mapped in one way, and what a guest has written can be told (native/private-memory.c).

import { randomUUID } from "node:crypto";
import { mkdir, open, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";

const MIB = 1024 * 1024;

/** The file for this many MiB, made unless it is there. It takes no room on the disk. */
export async function emptyMemory(folder: string, memoryMib: number): Promise<string> {
  const file = join(folder, `${memoryMib}M`);
  if (await stat(file).then(Boolean, () => false)) return file;
  await mkdir(folder, { recursive: true, mode: 0o755 });
  // Several VMs may begin at once; each call has a file of its own until it has its name.
  const part = `${file}.${randomUUID()}.part`;
  try {
    await using made = await open(part, "w", 0o444);
    await made.truncate(memoryMib * MIB);
    await rename(part, file);
  } finally {
    await rm(part, { force: true });
  }
  return file;
}
