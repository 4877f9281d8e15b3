// What a host has for its QEMUs, with slots of a test's own.

import { open, realpath } from "node:fs/promises";
import { join } from "node:path";
import { DenialCounts } from "../../src/network/denial-counts.ts";
import { EgressLoader } from "../../src/network/egress-loader.ts";
import { runProgram } from "../../src/system/run.ts";
import { guestDeadlines } from "../../src/vm/record/guest-deadlines.ts";
import { KVM_DEVICE } from "../../src/vm/qemu/accelerator.ts";
import { openCgroups } from "../../src/vm/qemu/cgroup.ts";
import type { Accelerator } from "../../src/vm/qemu/qemu-arguments.ts";
import { qemuProgram, smallerQemu } from "../../src/vm/qemu/smaller-qemu.ts";
import type { HostResources } from "../../src/vm/record/vm-resources.ts";
import type { Native } from "./native.ts";
import { testNames } from "./names.ts";
import { testNumber, testRange, testSlots } from "./network.ts";

const DEADLINE_MS = 30_000;
/** Below those of hosts, and another range in each process. */
const FIRST_UID = 1_800_000_000;

/** KVM where its device opens, which does not mean that it runs a Linux. */
export async function testAccelerator(): Promise<Accelerator> {
  const device = await open(KVM_DEVICE, "r+").catch(() => undefined);
  await device?.close();
  return device === undefined ? "tcg" : "kvm";
}

/** `name`: as for `testSlots`. */
export async function testResources(name: string, native: Native): Promise<HostResources> {
  const slots = testSlots(name, native);
  const found = await runProgram("sh", ["-c", "command -v qemu-system-x86_64"], { deadlineMs: DEADLINE_MS });
  const full = await realpath(found.trim());
  const accelerator = await testAccelerator();
  // As hosts do.
  const qemu = accelerator === "kvm" ? ((await smallerQemu(full)) ?? full) : full;
  return {
    slots,
    ...(await qemuProgram(qemu)),
    egress: new EgressLoader({
      range: testRange(),
      neverCidrs: [],
      resolverPort: 1,
      slots,
      names: testNames(),
    }),
    denials: new DenialCounts({
      program: native.slotDenials,
      startTicks: 0,
      log: { debug: () => undefined },
    }),
    cgroups: await openCgroups(instanceOf(name), undefined),
    launcher: native.launch,
    consoleLog: native.consoleLog,
    privateMemory: native.privateMemory,
    changedPages: native.changedPages,
    emptyMemoryFolder: join(native.folder, "empty-memory"),
    noDisassembler: native.noDisassembler,
    device: accelerator === "kvm" ? KVM_DEVICE : undefined,
    firstVmUid: FIRST_UID + testNumber * 4_096,
    deadlines: guestDeadlines(1),
  };
}

/** What its processes and cgroups are named after. */
export function instanceOf(name: string): string {
  return `unit${process.pid}-${name}`;
}
