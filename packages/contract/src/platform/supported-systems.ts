// On which systems Skerry has been tried, and what came of it: the matrix of docs/supported.md and of `skerry doctor`. The trials are
// recorded by `npm run try-system`, never by hand.

import trials from "./system-trials.json" with { type: "json" };

export const systems = ["Debian 12", "Debian 13", "Ubuntu 22.04", "Ubuntu 24.04"] as const;
/** Branches of QEMU, oldest first: one for each of the systems, in their packages. */
export const qemuBranches = ["6.2", "7.2", "8.2", "10.0"] as const;
export const accelerators = ["tcg", "kvm"] as const;

/** What can be tried on a system; `setup/try-system.ts` says how. */
export type TrialName = "first-sandbox" | "end-to-end" | "kvm";

export interface SystemTrial {
  /** As in `systems`, where it is one of them. */
  readonly system: string;
  /** `7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)` */
  readonly qemu: string;
  readonly accelerator: (typeof accelerators)[number];
  readonly trial: TrialName;
  /** The files that it was confined to; empty for all. */
  readonly only: readonly string[];
  readonly passed: boolean;
  /** What came of it, for people. */
  readonly result: string;
  /** What is known of its failures, and on what a machine it ran. */
  readonly note?: string;
  readonly commit: string;
  /** `2026-11-22` */
  readonly date: string;
  /** The versions of what else it ran with, by name. */
  readonly versions: Readonly<Record<string, string>>;
}

/** Where something runs: one cell of the matrix. */
export interface Cell {
  readonly system: string;
  /** Of any length: `10.0`, `10.0.2 (Debian …)`. */
  readonly qemu: string;
  readonly accelerator: SystemTrial["accelerator"];
}

export type CellVerdict = "run here" | "run in parts" | "not tried";

export const recordedTrials = trials as readonly SystemTrial[];

export function trialsOf(cell: Cell, all: readonly SystemTrial[] = recordedTrials): SystemTrial[] {
  return all.filter(
    ({ system, qemu, accelerator }) =>
      system === cell.system && branchOf(qemu) === branchOf(cell.qemu) && accelerator === cell.accelerator,
  );
}

/** *run here*: first sandbox and the whole end-to-end suite passed. *run in parts*: something did. */
export function cellVerdict(cell: Cell, all: readonly SystemTrial[] = recordedTrials): CellVerdict {
  const passed = trialsOf(cell, all).filter((trial) => trial.passed);
  if (passed.length === 0) return "not tried";
  const whole = passed.filter(({ only }) => only.length === 0).map(({ trial }) => trial);
  return whole.includes("first-sandbox") && whole.includes("end-to-end") ? "run here" : "run in parts";
}

/** `7.2` of `7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)` */
export function branchOf(qemu: string): string {
  return /\d+\.\d+/.exec(qemu)?.[0] ?? qemu;
}

/** The system that `/etc/os-release` describes, as the matrix calls it; its own name where the matrix does not have it. */
export function systemOf(osRelease: string): string {
  const field = (name: string): string =>
    new RegExp(`^${name}="?([^"\\n]*)`, "m").exec(osRelease)?.[1]?.trim() ?? "";
  const known = systems.find((name) => name.toLowerCase() === `${field("ID")} ${field("VERSION_ID")}`);
  return known ?? (field("PRETTY_NAME") || "unknown");
}

/** Adds a trial in the place of an earlier one of the same thing on the same cell. */
export function withTrial(all: readonly SystemTrial[], added: SystemTrial): SystemTrial[] {
  const isSame = (other: SystemTrial): boolean =>
    trialsOf(added, [other]).length > 0 &&
    other.trial === added.trial &&
    other.only.join() === added.only.join();
  return [...all.filter((other) => !isSame(other)), added].toSorted((a, b) =>
    orderOf(a).localeCompare(orderOf(b), "en", { numeric: true }),
  );
}

function orderOf({ system, qemu, accelerator, trial, only }: SystemTrial): string {
  return [system, branchOf(qemu), accelerator, trial, ...only].join(" · ");
}
