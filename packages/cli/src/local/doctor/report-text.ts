// A report for people: what is in it, what was found, what to do, and the figures.

import type { Figure, Finding } from "@skerry/contract/hosts/finding";
import type { MachineReport } from "@skerry/contract/hosts/machine-report";

const words = { ok: "ok", warning: "WARNING", fault: "FAULT", not_tried: "not tried" } as const;
const NAME_CHARS = 24;
const VERDICT_CHARS = 10;

export function reportText(report: MachineReport): string {
  const { findings, machine, traces } = report;
  const sections = [...new Set(findings.map(({ section }) => section))];
  return [
    `${report.program}, Skerry ${report.skerry_version}, ${report.made_at}, ${report.amount}, ${Math.round(report.took_s)} s`,
    "",
    "This file and the JSON beside it hold: versions of kernel, QEMU and packages, model, flags and settings of CPU and kernel, what the",
    "checks found, and times. They hold no token, no name and no address of this machine, and nothing of what runs on it; what looked",
    "like one was taken out. Look through them before you send them to anyone.",
    "",
    ...(report.emulated ? emulationText(report) : []),
    summary(findings),
    "",
    ...sections.flatMap((section) =>
      sectionLines(
        section,
        findings.filter((one) => one.section === section),
      ),
    ),
    "REMOVED AT THE END (before, during, after)",
    ...traces.map((one) => `  ${one.kind.padEnd(NAME_CHARS)} ${one.before}, ${one.during}, ${one.after}`),
    "",
    "MACHINE",
    ...Object.entries(machine).map(([name, value]) => `  ${name.padEnd(NAME_CHARS)} ${value}`),
    "",
  ].join("\n");
}

function emulationText({ emulation_hides: hidden }: MachineReport): string[] {
  return [
    "GUESTS WERE EMULATED. The steps are the same as with KVM, and the times are not. What this run cannot show:",
    ...hidden.map((what) => `  - ${what}`),
    "",
  ];
}

function summary(findings: readonly Finding[]): string {
  const count = (verdict: Finding["verdict"]): number =>
    findings.filter((one) => one.verdict === verdict).length;
  return `${count("ok")} ok, ${count("warning")} warnings, ${count("fault")} faults, ${count("not_tried")} not tried`;
}

function sectionLines(section: string, findings: readonly Finding[]): string[] {
  const width = Math.max(NAME_CHARS, ...findings.map(({ check }) => check.length));
  return [section.toUpperCase(), ...findings.flatMap((one) => findingLines(one, width)), ""];
}

function findingLines({ check, verdict, found, remedy, figures }: Finding, width: number): string[] {
  const below = `  ${" ".repeat(width)}`;
  return [
    `  ${check.padEnd(width)} ${words[verdict].padEnd(VERDICT_CHARS)} ${found}`,
    ...(remedy === "" ? [] : [`${below} -> ${remedy}`]),
    ...figures.map((figure) => `${below}    ${figureText(figure)}`),
  ];
}

function figureText({ what, unit, samples, median, p99, worst }: Figure): string {
  if (samples === 1) return `${what}: ${median} ${unit}`;
  return `${what}: median ${median}, p99 ${p99}, worst ${worst} ${unit} (${samples})`;
}
