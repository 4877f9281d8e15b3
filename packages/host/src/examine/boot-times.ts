// A boot up to the guest's first process: what firmware and kernel take, without launcher, disk, network and the rest.

import { spawn } from "node:child_process";
import { containedCommand } from "../system/run.ts";
import type { BootFiles } from "../templates/boot-files.ts";
import { cpuArgument, kernelCommandLine, MACHINE_TYPE, type Machine } from "../vm/qemu/qemu-arguments.ts";

/** The kernel's first word on the console, and what it says before it starts the initramfs' `/init`. */
const FIRST_LINE = /Linux version/;
const FIRST_PROCESS = /Run \/init as init process/;
const KEPT_CHARS = 10_000;

export interface BootTimesOptions {
  readonly qemu: string;
  /** Path of native/contain.c, in which it runs. */
  readonly contain: string;
  readonly boot: BootFiles;
  readonly machine: Machine;
  /** Undefined: QEMU's own choice. */
  readonly firmware: string | undefined;
  readonly deadlineMs: number;
}

/** In ms from the start of QEMU. */
export interface BootTimes {
  readonly lineMs: number;
  readonly processMs: number;
}

/** A string says why the guest did not get there. */
export async function bootTimes(options: BootTimesOptions): Promise<BootTimes | string> {
  const { qemu, contain, boot, machine, firmware, deadlineMs } = options;
  const args = [
    ...["-M", MACHINE_TYPE],
    ...(firmware === undefined ? [] : ["-bios", firmware]),
    ...["-accel", machine.accelerator, "-cpu", cpuArgument(machine.accelerator)],
    ...["-smp", String(machine.vcpus), "-m", String(machine.memoryMib)],
    ...["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-serial", "stdio"],
    ...["-kernel", boot.kernel, "-initrd", boot.initramfs],
    ...["-append", kernelCommandLine(machine).replace(" quiet", "")],
  ];
  const startedMs = performance.now();
  const child = spawn(...containedCommand(contain, [qemu, ...args]), { stdio: ["ignore", "pipe", "pipe"] });
  // Not spawn's own `timeout`, whose timer goes on where QEMU could not be started.
  const deadline = setTimeout(() => child.kill("SIGKILL"), deadlineMs);
  let said = "";
  let complaint = "";
  let lineMs: number | undefined;
  let processMs: number | undefined;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-KEPT_CHARS);
    if (lineMs === undefined && FIRST_LINE.test(said)) lineMs = performance.now() - startedMs;
    if (processMs !== undefined || !FIRST_PROCESS.test(said)) return;
    processMs = performance.now() - startedMs;
    child.kill("SIGKILL");
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaint = (complaint + text).slice(-KEPT_CHARS);
  });
  const ended = await new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code) =>
      resolve(code === null ? `not there within ${deadlineMs / 1_000} s` : `QEMU ended with ${code}`),
    );
  }).finally(() => clearTimeout(deadline));
  if (lineMs !== undefined && processMs !== undefined) return { lineMs, processMs };
  const lastWords = (complaint.trim() || said.trim()).split("\n").at(-1) ?? "";
  return lastWords === "" ? `${ended}, and silent` : `${ended} (${lastWords.trim()})`;
}
