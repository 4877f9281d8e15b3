// `skerry doctor --thorough`: every check, also of what a guest does here, and two files about it that can be sent to others.

import type { Finding } from "@skerry/contract/hosts/finding";
import type { MachineReport } from "@skerry/contract/hosts/machine-report";
import packageJson from "../../../package.json" with { type: "json" };
import { CliError } from "../../errors/errors.ts";
import type { Layout } from "../system/layout.ts";
import { compareReports } from "./compare-reports.ts";
import { checksOf, exitCodeOf, runChecks } from "./doctor.ts";
import { examineHost, type ExamineOptions } from "./examine-host.ts";
import { machineFacts } from "./machine-facts.ts";
import { systemFiles } from "./system-files.ts";
import { removalFinding } from "./removal-finding.ts";
import { earlierReport, writeReport } from "./write-report.ts";

export interface ThoroughOptions extends ExamineOptions {
  /** For the two files. */
  readonly folder: string;
}

const NAME = "skerry-doctor";

export const EMULATION_HIDES: readonly string[] = [
  "how fast anything is: guests run 10 to 50 times slower",
  "whether KVM runs Linux here: its exits, its page tables (EPT, NPT), its clocks (kvm-clock, TSC) and its interrupts",
  "whether frozen templates fit the CPU: an emulated CPU is the same everywhere",
  "what a guest could do to KVM: emulation is no security boundary",
];

export async function thorough(
  layout: Layout,
  options: ThoroughOptions,
): Promise<{ readonly report: MachineReport; readonly files: readonly string[]; readonly exitCode: number }> {
  if (process.getuid?.() !== 0)
    throw new CliError("not_root", "`skerry doctor --thorough` starts VMs, which needs root.", {
      remediation: "Run it with sudo.",
    });
  const { folder, amount, say } = options;
  const startedAt = new Date();
  const startedMs = performance.now();
  const findings: Finding[] = [];
  for (const { finding } of await runChecks(checksOf(layout))) {
    findings.push(finding);
    if (finding.verdict !== "ok") say(`${finding.check}: ${finding.found}`);
  }
  const examined = await examineHost(layout, options);
  const machine = { ...(await machineFacts(systemFiles)), ...examined.facts };
  findings.push(...examined.findings);
  const comparison = compareReports(await earlierReport({ folder, name: NAME }), machine);
  findings.push({ section: "restore", check: "earlier report", ...comparison });
  findings.push(removalFinding(examined.left, examined.traces));
  const emulated = machine["accelerator"] !== "kvm";
  const report: MachineReport = {
    ...{ format: 1, program: "skerry doctor --thorough", skerry_version: packageJson.version, amount },
    made_at: startedAt.toISOString(),
    took_s: (performance.now() - startedMs) / 1_000,
    ...{ emulated, emulation_hides: emulated ? [...EMULATION_HIDES] : [] },
    ...{ machine, findings, traces: [...examined.traces] },
  };
  return { report, files: await writeReport({ folder, name: NAME }, report), exitCode: exitCodeOf(findings) };
}
