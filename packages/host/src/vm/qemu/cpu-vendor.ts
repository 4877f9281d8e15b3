// Who made this machine's CPU.

import { readFileSync } from "node:fs";

let known: string | undefined;

/** In the words of /proc/cpuinfo, such as `AuthenticAMD`; empty where that says none. Read once: it stays while this process runs. */
export function cpuVendor(): string {
  known ??= /^vendor_id\s*:\s*(\S+)$/m.exec(readFileSync("/proc/cpuinfo", "utf8"))?.[1] ?? "";
  return known;
}
