// The disk that holds a folder, as cgroups know it.

import { readFile, realpath, stat } from "node:fs/promises";
import { join } from "node:path";

const DEVICES = "/sys/dev/block";

/** `MAJOR:MINOR` of the whole disk, because limits hold for no part of one; undefined for what is no single disk, such as btrfs, overlays
 *  and memory. */
export async function diskNumberOf(folder: string, devices = DEVICES): Promise<string | undefined> {
  try {
    const { dev } = await stat(folder, { bigint: true });
    const device = await realpath(join(devices, numberOf(dev)));
    const isPart = await stat(join(device, "partition")).then(
      () => true,
      () => false,
    );
    return (await readFile(join(device, isPart ? "../dev" : "dev"), "utf8")).trim();
  } catch {
    return undefined;
  }
}

/** As glibc takes a device number apart. */
export function numberOf(dev: bigint): string {
  const major = ((dev >> 8n) & 0xfffn) | ((dev >> 32n) & 0xfffff000n);
  const minor = (dev & 0xffn) | ((dev >> 12n) & 0xffffff00n);
  return `${major}:${minor}`;
}
