import { join } from "node:path";
import {
  branchOf,
  cellVerdict,
  recordedTrials,
  systemOf,
  trialsOf,
  type Cell,
  type SystemTrial,
} from "@skerry/contract/platform/supported-systems";
import { ok, warning, type Outcome } from "./outcome.ts";
import type { SystemFiles } from "./system-files.ts";

/** What is known of this machine's cell of docs/supported.md. `qemu` is what it says of its version. */
export async function checkSupported(
  files: SystemFiles,
  assets: string,
  qemu: string | undefined,
): Promise<Outcome> {
  if (qemu === undefined) return warning("unknown without QEMU", "apt-get install qemu-system-x86");
  const system = systemOf((await files.read("/etc/os-release")) ?? "");
  const hasKvm = (await files.list("/dev")).includes("kvm");
  const kept = await files.read(join(assets, "accelerator.json"));
  const accelerator = !hasKvm ? "tcg" : kept === undefined ? "kvm" : verdictIn(kept);
  return supportedOutcome({ system, qemu, accelerator });
}

export function supportedOutcome(cell: Cell, all: readonly SystemTrial[] = recordedTrials): Outcome {
  const guests = cell.accelerator === "kvm" ? "on KVM" : "emulated";
  const verdict = cellVerdict(cell, all);
  const passed = trialsOf(cell, all).filter((trial) => trial.passed);
  const found = `${cell.system}, QEMU ${branchOf(cell.qemu)}, guests ${guests}: ${verdict}`;
  if (verdict === "not tried")
    return warning(
      found,
      "It may work: npm test shows it. docs/supported.md has what was tried, and how to add this machine.",
    );
  return ok(`${found} (${[...new Set(passed.map(({ trial, date }) => `${trial} ${date}`))].join(", ")})`);
}

function verdictIn(kept: string): Cell["accelerator"] {
  return (JSON.parse(kept) as { verdict: { accelerator: Cell["accelerator"] } }).verdict.accelerator;
}
