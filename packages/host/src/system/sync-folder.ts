import { open } from "node:fs/promises";

/** Has the kernel write down which files are in the folder. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
