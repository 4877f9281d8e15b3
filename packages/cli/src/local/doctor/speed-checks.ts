// Settings of the kernel that make guests slower than they could be.

import type { Check } from "./check.ts";
import { ok, warning, type Outcome } from "./outcome.ts";
import type { SystemFiles } from "./system-files.ts";

export function speedChecks(files: SystemFiles): readonly Check[] {
  return [
    { name: "huge pages", shown: "unless_ok", look: () => checkHugePages(files) },
    { name: "clock source", shown: "unless_ok", look: () => checkClockSource(files) },
  ];
}

/** For machines, which boot from their own disks. Clones of a template share its pages, which are small ones in any case. */
export async function checkHugePages(files: SystemFiles): Promise<Outcome> {
  const enabled = await files.read("/sys/kernel/mm/transparent_hugepage/enabled");
  const chosen = /\[(\w+)\]/.exec(enabled ?? "")?.[1];
  if (chosen === "always" || chosen === "madvise") return ok(chosen);
  return warning(
    chosen ?? "the kernel has none",
    "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled: machines with much memory run 5 to 20 % faster.",
  );
}

export async function checkClockSource(files: SystemFiles): Promise<Outcome> {
  const folder = "/sys/devices/system/clocksource/clocksource0";
  const current = (await files.read(`${folder}/current_clocksource`)) ?? "unknown";
  if (current === "tsc") return ok(current);
  // Of a machine that is a VM itself. Guests cannot read such a clock without a system call.
  if (current === "kvm-clock" || current.startsWith("hyperv"))
    return ok(`${current}: reading the clock in a guest takes a system call`);
  return warning(
    `${current}: reading the clock is slow here and in guests`,
    "`dmesg | grep -i tsc` says why the kernel left the CPU's own counter.",
  );
}
