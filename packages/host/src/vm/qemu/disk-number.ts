// The disk that holds a folder, as cgroups know it.

import { readFile, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { deviceNumber } from "@skerry/contract/hosts/device-number";

const DEVICES = "/sys/dev/block";

/** `MAJOR:MINOR` of the whole disk, because limits hold for no part of one; undefined for what is no single disk, such as btrfs, overlays
 *  and memory. */
export async function diskNumberOf(folder: string, devices = DEVICES): Promise<string | undefined> {
  try {
    const { dev } = await stat(folder, { bigint: true });
    const device = await realpath(join(devices, deviceNumber(dev)));
    const isPart = await stat(join(device, "partition")).then(
      () => true,
      () => false,
    );
    return (await readFile(join(device, isPart ? "../dev" : "dev"), "utf8")).trim();
  } catch {
    return undefined;
  }
}
