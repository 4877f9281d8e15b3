// The CPU that a guest of this host sees. It decides where a guest may go on: its kernel has patched itself for that CPU, and its programs
// have chosen routines by it.

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { release } from "node:os";
import { runProgram } from "../../system/run.ts";
import { cpuArgument, FIRMWARE, MACHINE_TYPE, type Accelerator } from "./qemu-arguments.ts";

export interface GuestCpu {
  /** The same on hosts whose guests see the same CPU. */
  readonly model: string;
  /** What frozen state on this host's disk depends on besides: a cloud gives a machine another CPU, microcode or kernel while it is off. */
  readonly revision: string;
}

const ANSWER_DEADLINE_MS = 20_000;
const QUESTIONS = [
  { execute: "qmp_capabilities" },
  { execute: "query-cpu-model-expansion", arguments: { type: "full", model: { name: "host" } } },
  { execute: "quit" },
];

/** Asks QEMU, because the flags in /proc/cpuinfo are those that this kernel prints, and not those that it gives a guest. */
export async function guestCpu(qemu: string, accelerator: Accelerator): Promise<GuestCpu> {
  if (accelerator === "tcg") return { model: "emulated", revision: "" };
  const machine = ["-M", MACHINE_TYPE, "-bios", FIRMWARE, "-accel", "kvm", "-cpu", cpuArgument("kvm"), "-S"];
  const quiet = ["-nodefaults", "-no-user-config", "-display", "none", "-qmp", "stdio"];
  const answers = await runProgram(qemu, [...machine, ...quiet], {
    input: QUESTIONS.map((question) => `${JSON.stringify(question)}\n`).join(""),
    deadlineMs: ANSWER_DEADLINE_MS,
  });
  const cpuinfo = await readFile("/proc/cpuinfo", "utf8");
  return {
    model: `${fieldOf(cpuinfo, "model name")} ${digestOf(propertiesIn(answers))}`,
    revision: `${fieldOf(cpuinfo, "microcode")} ${release()}`,
  };
}

/** The properties that QEMU names, sorted, so that their order does not count. Throws where it named none. */
export function propertiesIn(answers: string): readonly string[] {
  for (const line of answers.split("\n")) {
    if (!line.includes('"props"')) continue;
    const { return: answer } = JSON.parse(line) as { return?: { model?: { props?: object } } };
    const properties = Object.entries(answer?.model?.props ?? {});
    if (properties.length > 0) return properties.map(([name, value]) => `${name}=${String(value)}`).sort();
  }
  throw new Error("QEMU did not say which CPU its guests see");
}

function digestOf(properties: readonly string[]): string {
  return createHash("sha256").update(properties.join("\n")).digest("hex").slice(0, 12);
}

function fieldOf(cpuinfo: string, name: string): string {
  return new RegExp(`^${name}\\s*:\\s*(.*)$`, "m").exec(cpuinfo)?.[1]?.trim() ?? "";
}
