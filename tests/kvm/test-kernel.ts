// The kernel that the tests under KVM boot. Where KVM works any kernel with its drivers built in does; where KVM interprets a guest's
// kernel it has to be one that asks for no more than that.

import { closeSync, existsSync, openSync } from "node:fs";
import { join } from "node:path";

const CONVENTIONAL = join(import.meta.dirname, "../../.cache/kvm-kernel/vmlinux");

/** Its path, or why there are no tests under KVM on this machine. */
export function testKernel(): { readonly file: string } | { readonly missing: string } {
  const file = process.env["SKERRY_KVM_TEST_KERNEL"] ?? CONVENTIONAL;
  if (!existsSync(file)) return { missing: `there is no kernel at ${file} (SKERRY_KVM_TEST_KERNEL)` };
  try {
    closeSync(openSync("/dev/kvm", "r+"));
  } catch (error) {
    return { missing: `/dev/kvm does not open (${String((error as NodeJS.ErrnoException).code)})` };
  }
  return { file };
}

/** All of them in a full run, otherwise some minutes' worth. */
export function testFiles(): readonly string[] {
  return [process.env["SKERRY_TEST_FULL"] === "1" ? "tests/kvm/*.test.ts" : "tests/kvm/smoke.test.ts"];
}
