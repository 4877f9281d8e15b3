// Settings of the kernel that make guests slower than they could be.

import type { Check } from "./check.ts";
import { ok, warning, type Outcome } from "./outcome.ts";
import type { SystemFiles } from "./system-files.ts";

export function speedChecks(files: SystemFiles): readonly Check[] {
  return [
    { name: "nested paging", shown: "unless_ok", look: () => checkNestedPaging(files) },
    { name: "huge pages", shown: "unless_ok", look: () => checkHugePages(files) },
    { name: "clock source", shown: "unless_ok", look: () => checkClockSource(files) },
  ];
}

/** Without it the kernel keeps a second set of tables for each guest by hand, at each change that the guest makes. */
export async function checkNestedPaging(files: SystemFiles): Promise<Outcome> {
  for (const [module, parameter] of [
    ["kvm_intel", "ept"],
    ["kvm_amd", "npt"],
  ] as const) {
    const value = await files.read(`/sys/module/${module}/parameters/${parameter}`);
    if (value === undefined) continue;
    if (value === "Y" || value === "1") return ok(`on (${module} ${parameter})`);
    return warning(
      `off (${module} ${parameter}=${value}): guests are several times slower`,
      `modprobe -r ${module} && modprobe ${module} ${parameter}=1, where the CPU has it; in a VM the outer hypervisor decides.`,
    );
  }
  return ok("neither kvm_intel nor kvm_amd is loaded");
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
