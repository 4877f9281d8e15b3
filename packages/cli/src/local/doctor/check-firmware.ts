import { join } from "node:path";
import { ok, fault, type Outcome } from "./outcome.ts";
import type { SystemFiles } from "./system-files.ts";

/** The firmware that the host names to QEMU. */
const FIRMWARE = "qboot.rom";

/** Looks where QEMU does: `folders` is what `qemu-system-x86_64 -L help` prints. */
export async function checkFirmware(files: SystemFiles, folders: readonly string[]): Promise<Outcome> {
  for (const folder of folders)
    if ((await files.list(folder)).includes(FIRMWARE)) return ok(join(folder, FIRMWARE));
  return fault(
    `${FIRMWARE} is in none of ${folders.join(", ") || "QEMU's folders"}`,
    "apt-get install --reinstall qemu-system-data; elsewhere the package that has qboot (qemu-system-x86-firmware, seabios).",
  );
}
