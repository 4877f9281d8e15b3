// The folders of a host that hold what organizations have stored: disks, memory, layers, consoles. No other user of the machine enters them. A
// QEMU, which is another user too, needs no way through them: the launcher opens or binds as root what it gets.

import { chmod, mkdir } from "node:fs/promises";
import { join } from "node:path";

export const CLOSED_MODE = 0o700;

const CLOSED_FOLDERS = ["layers", "own-frozen", "snapshots", "templates", "vms"] as const;

/** Makes those that are missing, and closes those that an earlier version has left open. */
export async function closeFolders(stateFolder: string): Promise<void> {
  for (const name of CLOSED_FOLDERS) {
    const folder = join(stateFolder, name);
    await mkdir(folder, { recursive: true, mode: CLOSED_MODE });
    await chmod(folder, CLOSED_MODE);
  }
}
