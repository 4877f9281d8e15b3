// KVM or emulation? Where `/dev/kvm` exists a guest has to show it (`start/probe-guest.ts`). A yes is kept until kernel, agent, QEMU or the machine's
// boot change; a no for some minutes only, because its cause may have been another hypervisor that was running, or a machine that was
// busy.

import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Accelerator } from "./qemu-arguments.ts";

export interface AcceleratorVerdict {
  readonly accelerator: Accelerator;
  /** One sentence for people. */
  readonly reason: string;
  /** Path of the QEMU that has run a guest on KVM. */
  readonly qemu?: string;
}

export const KVM_DEVICE = "/dev/kvm";
const NO_KEPT_MS = 10 * 60_000;

export interface AcceleratorOptions {
  readonly qemuVersion: string;
  /** Digest of kernel and agent. */
  readonly boot: string;
  /** Keeps the verdict: `accelerator.json` in it. */
  readonly folder: string;
  /** Tries a guest on KVM and resolves with the path of its QEMU; throws where it does not run, and the message completes "/dev/kvm is there
   *  but …". */
  readonly probe: () => Promise<string>;
}

export async function chooseAccelerator(options: AcceleratorOptions): Promise<AcceleratorVerdict> {
  const present = await stat(KVM_DEVICE).then(
    () => true,
    () => false,
  );
  if (!present)
    return {
      accelerator: "tcg",
      reason: `${KVM_DEVICE} does not exist; the CPU is emulated, for development only`,
    };
  const file = join(options.folder, "accelerator.json");
  const bootId = (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();
  const key = [options.qemuVersion, options.boot, bootId].join(" · ");
  const kept = (await readFile(file, "utf8").then(JSON.parse, () => undefined)) as KeptVerdict | undefined;
  if (kept?.key === key && kept.verdict !== undefined && stillHolds(kept, Date.now())) return kept.verdict;
  const verdict = await verdictOf(options.probe);
  await mkdir(options.folder, { recursive: true });
  await writeFile(file, JSON.stringify({ key, verdict, at_ms: Date.now() } satisfies KeptVerdict));
  return verdict;
}

async function verdictOf(probe: AcceleratorOptions["probe"]): Promise<AcceleratorVerdict> {
  try {
    const qemu = await probe();
    return { accelerator: "kvm", reason: `a guest was frozen and cloned on ${KVM_DEVICE}`, qemu };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return {
      accelerator: "tcg",
      reason: `${KVM_DEVICE} is there but ${why}; the CPU is emulated, for development only`,
    };
  }
}

/** Written by other versions of the host, too. */
interface KeptVerdict {
  readonly key?: string;
  readonly verdict?: AcceleratorVerdict;
  /** When the machine was asked. */
  readonly at_ms?: number;
}

/** A no of a later time is from before the clock was set back. */
export function stillHolds({ verdict, at_ms: atMs = -Infinity }: KeptVerdict, nowMs: number): boolean {
  return verdict?.accelerator === "kvm" || (atMs <= nowMs && nowMs - atMs < NO_KEPT_MS);
}

/** This machine's TSC rate in kHz. An emulated guest cannot measure it (a cold boot hung in 3 of 8 runs
 *  while it tried) and trusts what it is told, so a wrong value makes its clock run wrong. Linux derives
 *  `bogomips` from the rate: 2 per MHz; `cpu MHz` would be today's frequency, which changes with the load. */
export async function tscKhz(): Promise<number> {
  return tscKhzOf(await readFile("/proc/cpuinfo", "utf8"));
}

export function tscKhzOf(cpuinfo: string): number {
  const bogomips = /^bogomips\s*:\s*([\d.]+)$/m.exec(cpuinfo)?.[1];
  const flags = /^flags\s*:(.*)$/m.exec(cpuinfo)?.[1] ?? "";
  if (bogomips === undefined || !/\bconstant_tsc\b/.test(flags)) {
    throw new Error(
      "this CPU has no constant time-stamp counter, so emulated guests would have a wrong clock; use KVM",
    );
  }
  return Math.round(Number(bogomips) * 500);
}
