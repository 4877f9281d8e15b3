// KVM or emulation? `/dev/kvm` existing, opening and even making a vCPU does not mean that a kernel runs on
// it: there are machines where all three succeed and the guest then hangs. So the probe boots a real guest,
// with a deadline. A yes is kept until kernel, QEMU or the machine's boot change; a no for some minutes only, because its cause may
// have been another hypervisor that was running, or a machine that was busy.

import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { spawn } from "node:child_process";
import { join } from "node:path";
import {
  cpuArgument,
  FIRMWARE,
  kernelCommandLine,
  MACHINE_TYPE,
  type Accelerator,
} from "./qemu-arguments.ts";

export interface AcceleratorVerdict {
  readonly accelerator: Accelerator;
  /** One sentence for people. */
  readonly reason: string;
}

export const KVM_DEVICE = "/dev/kvm";
/** A guest on working KVM says its line within a second; this one is for slow machines. */
const PROBE_DEADLINE_MS = 8_000;
const PROBE_LINE = "skerry-probe-ok";
const PROBE_MEMORY_MIB = 128;
const NO_KEPT_MS = 10 * 60_000;

export interface ProbeOptions {
  readonly qemu: string;
  readonly qemuVersion: string;
  readonly kernel: string;
  readonly initramfs: string;
  readonly kernelVersion: string;
  /** Keeps the verdict: `accelerator.json` in it. */
  readonly folder: string;
}

export async function chooseAccelerator(options: ProbeOptions): Promise<AcceleratorVerdict> {
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
  const key = [options.qemuVersion, options.kernelVersion, bootId].join(" · ");
  const kept = (await readFile(file, "utf8").then(JSON.parse, () => undefined)) as KeptVerdict | undefined;
  if (kept?.key === key && kept.verdict !== undefined && stillHolds(kept, Date.now())) return kept.verdict;
  const verdict = await probe(options);
  await mkdir(options.folder, { recursive: true });
  await writeFile(file, JSON.stringify({ key, verdict, at_ms: Date.now() } satisfies KeptVerdict));
  return verdict;
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

async function probe(options: ProbeOptions): Promise<AcceleratorVerdict> {
  const problem = await bootOnce(options);
  if (problem === undefined) return { accelerator: "kvm", reason: `a guest booted on ${KVM_DEVICE}` };
  return {
    accelerator: "tcg",
    reason: `${KVM_DEVICE} is there but ${problem}; the CPU is emulated, for development only`,
  };
}

/** Undefined when a guest on KVM has reached its first process; otherwise what went wrong. */
async function bootOnce(options: ProbeOptions): Promise<string | undefined> {
  const folder = await mkdtemp("/tmp/skerry-probe-");
  const machine = { accelerator: "kvm", vcpus: 1, memoryMib: PROBE_MEMORY_MIB, tscKhz: undefined } as const;
  const child = spawn(
    options.qemu,
    [
      ...["-M", MACHINE_TYPE, "-bios", FIRMWARE, "-accel", "kvm", "-cpu", cpuArgument("kvm"), "-smp", "1"],
      ...["-m", String(PROBE_MEMORY_MIB), "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"],
      ...["-serial", "stdio", "-kernel", options.kernel, "-initrd", options.initramfs],
      ...["-append", kernelCommandLine(machine, " skerry.probe")],
    ],
    { cwd: folder, stdio: ["ignore", "pipe", "pipe"], timeout: PROBE_DEADLINE_MS, killSignal: "SIGKILL" },
  );
  let output = "";
  const collect = (text: string): void => void (output = (output + text).slice(-10_000));
  child.stdout.setEncoding("utf8").on("data", collect);
  let complaint = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaint = (complaint + text).slice(-10_000);
  });
  const ended = await new Promise<string>((resolve) => {
    child.stdout.on("data", () => {
      if (output.includes(PROBE_LINE)) child.kill("SIGKILL");
    });
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code) =>
      resolve(
        code === null ? `no guest came up within ${PROBE_DEADLINE_MS / 1_000} s` : `QEMU ended with ${code}`,
      ),
    );
  });
  await rm(folder, { recursive: true, force: true });
  if (output.includes(PROBE_LINE)) return undefined;
  const lastWords = complaint.trim().split("\n").at(-1) ?? "";
  return lastWords === "" ? ended : `${ended} (${lastWords})`;
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
