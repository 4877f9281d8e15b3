// One host process per state folder: two would both want the control sockets of the same VMs, and each would
// clean up after the other.

import { spawn } from "node:child_process";
import { ftruncateSync, openSync, readFileSync, writeSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";

/** A predecessor that was killed may take a moment to be gone, and one that is asked to end some seconds. */
const WAIT_S = 10;
const HELD_BY_ANOTHER = 1;

/** Takes the folder until this process ends, however it ends: the kernel holds the lock, for the open file
 *  and not for a pid. */
export async function lockStateFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o711 });
  // Not a FileHandle, and never closed: garbage collection of the handle would release the lock.
  const file = join(folder, "host.lock");
  const fd = openSync(file, "a", 0o600);
  // flock(1) locks the open file that it inherits from us, so the lock stays when it has ended.
  const child = spawn("flock", ["--exclusive", "--wait", String(WAIT_S), "3"], {
    stdio: ["ignore", "ignore", "ignore", fd],
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", (cause) => reject(new Error("flock (util-linux) is not installed", { cause })));
    child.once("close", resolve);
  });
  if (code === HELD_BY_ANOTHER)
    throw new Error(
      `another host process (pid ${readFileSync(file, "utf8")}) uses the state folder ${folder}`,
    );
  if (code !== 0) throw new Error(`flock ended with ${code ?? "a signal"}; ${folder} could not be locked`);
  try {
    ftruncateSync(fd);
    writeSync(fd, String(process.pid));
  } catch {
    // The disk is full. The lock holds all the same; who waits for it is told no pid.
  }
}
