// Processes that still take connections.

import { readdir, readFile, readlink } from "node:fs/promises";

/** State of a socket that listens, as the kernel's table has it. */
const LISTEN = "0A";

/** Whether the process has a socket open that listens on an IPv4 address. One that is gone has none. */
export async function listens(pid: number): Promise<boolean> {
  const table = await readFile("/proc/net/tcp", "utf8");
  const inodes = new Set(
    table
      .split("\n")
      .map((line) => line.trim().split(/\s+/))
      .flatMap((fields) => (fields[3] === LISTEN ? [`socket:[${fields[9]}]`] : [])),
  );
  const folder = `/proc/${pid}/fd`;
  for (const name of await readdir(folder).catch(() => []))
    if (inodes.has(await readlink(`${folder}/${name}`).catch(() => ""))) return true;
  return false;
}
