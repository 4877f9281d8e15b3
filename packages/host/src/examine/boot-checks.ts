// Firmware and kernel: which firmware QEMU would take by itself, and how long a guest takes to its first process.

import { readdir, realpath } from "node:fs/promises";
import { cpus } from "node:os";
import { basename, join } from "node:path";
import { figureOf, type Figure } from "@skerry/contract/hosts/finding";
import { containOf } from "../config/native-programs.ts";
import { runProgram } from "../system/run.ts";
import { FIRMWARE } from "../vm/qemu/qemu-arguments.ts";
import { bootTimes, type BootTimes } from "./boot-times.ts";
import { failed, found, judge, type Judged } from "./judge.ts";
import { check, type Trial } from "./trial.ts";

const SECTION = "boot";
const ANSWER_DEADLINE_MS = 10_000;
/** Of a kernel on KVM, nested too; emulated with several CPUs it takes ten times as long. */
const DEADLINE_MS = { kvm: 30_000, tcg: 90_000 } as const;
/** A silent firmware is silent at once. */
const DEFAULT_FIRMWARE_DEADLINE_MS = { kvm: 8_000, tcg: 45_000 } as const;
const FIRST_PROCESS_MOST_MS = 3_000;
const MEMORY_MIB = 256;
const CPUS_MAX = 8;
const SLOW =
  "On a machine that is a VM itself this is what nested virtualization costs; else see whether it is busy, and `nested paging`.";

export async function bootChecks(trial: Trial): Promise<void> {
  await check(trial, [SECTION, "default firmware"], () => defaultFirmware(trial));
  for (const vcpus of new Set([1, Math.min(cpus().length, CPUS_MAX)]))
    await check(trial, [SECTION, `cold boot, ${vcpus} vCPU`], () => coldBoots(trial, vcpus));
}

/** Skerry names its firmware, so this only tells what a QEMU without that would do. */
async function defaultFirmware({ host, ready, isEmulated }: Trial): Promise<Judged> {
  const { qemu } = host.resources;
  const folders = (await runProgram(qemu, ["-L", "help"], { deadlineMs: ANSWER_DEADLINE_MS })).split("\n");
  const file = await firstWith(folders, "bios-microvm.bin");
  const what = file === undefined ? "none" : basename(file) === FIRMWARE ? "qboot" : "SeaBIOS";
  const { accelerator } = ready.frozen.machine;
  const took = await bootTimes({
    ...{ qemu, contain: containOf(host.config), boot: ready.boot, firmware: undefined },
    machine: { ...ready.frozen.machine, vcpus: 1, memoryMib: MEMORY_MIB },
    deadlineMs: DEFAULT_FIRMWARE_DEADLINE_MS[accelerator] * host.config.guestDeadlineFactor,
  });
  const outcome = typeof took === "string" ? `does not boot a guest (${took})` : "boots a guest";
  const text = `QEMU's own choice is ${what}, and ${outcome}; Skerry names ${FIRMWARE}${isEmulated ? "; emulated" : ""}`;
  return found(text, typeof took === "string" ? [] : figuresOf([took]));
}

async function firstWith(folders: readonly string[], name: string): Promise<string | undefined> {
  for (const folder of folders) {
    const names = await readdir(folder).catch(() => [] as string[]);
    if (names.includes(name)) return realpath(join(folder, name)).catch(() => undefined);
  }
  return undefined;
}

async function coldBoots({ host, ready, rounds, isEmulated }: Trial, vcpus: number): Promise<Judged> {
  const machine = { ...ready.frozen.machine, vcpus, memoryMib: MEMORY_MIB };
  const samples: BootTimes[] = [];
  const total = isEmulated ? rounds.emulatedBoots : rounds.boots;
  for (let round = 0; round < total; round += 1) {
    const took = await bootTimes({
      ...{ qemu: host.resources.qemu, contain: containOf(host.config) },
      ...{ boot: ready.boot, machine, firmware: FIRMWARE },
      deadlineMs: DEADLINE_MS[machine.accelerator] * host.config.guestDeadlineFactor,
    });
    if (typeof took === "string")
      return failed(
        `boot ${round + 1} of ${total} failed: ${took}`,
        "Each start of a machine may fail so: report it with this file.",
      );
    samples.push(took);
  }
  return judge(
    figuresOf(samples),
    { most: FIRST_PROCESS_MOST_MS, of: "median", remedy: SLOW, isSpeed: true },
    { isEmulated },
  );
}

function figuresOf(samples: readonly BootTimes[]): [Figure, Figure] {
  return [
    figureOf(
      "boot to the first process",
      "ms",
      samples.map(({ processMs }) => processMs),
    ),
    figureOf(
      "… to the kernel's first line",
      "ms",
      samples.map(({ lineMs }) => lineMs),
    ),
  ];
}
