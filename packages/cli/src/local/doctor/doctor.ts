// `skerry doctor`: does this machine have what a host needs? Each check looks for itself and says what to do about a fault.

import { release } from "node:os";
import type { Finding } from "@skerry/contract/hosts/finding";
import type { Layout } from "../system/layout.ts";
import { tryOwnLimits } from "./cgroup-limits.ts";
import type { Check } from "./check.ts";
import { deviceOf } from "./disk-encryption.ts";
import { isolationChecks, type IsolationFacts } from "./isolation-checks.ts";
import { kernelChecks } from "./kernel-checks.ts";
import { fault } from "./outcome.ts";
import { programChecks } from "./program-checks.ts";
import { resourceChecks } from "./resource-checks.ts";
import { speedChecks } from "./speed-checks.ts";
import { systemFiles } from "./system-files.ts";

/** All that is looked at without starting a guest. */
export function checksOf(layout: Layout): readonly (readonly [section: string, checks: readonly Check[]])[] {
  return [
    ["programs", programChecks(layout)],
    ["kernel", kernelChecks(layout)],
    ["resources", resourceChecks(layout)],
    ["isolation", isolationChecks(isolationFactsOf(layout))],
    ["speed", speedChecks(systemFiles)],
  ];
}

function isolationFactsOf(layout: Layout): IsolationFacts {
  const stateDevice = () => deviceOf(layout.state);
  return { files: systemFiles, kernelRelease: release(), limitsMemory, stateDevice };
}

async function limitsMemory(): Promise<boolean> {
  return (await tryOwnLimits())?.held.includes("memory") === true;
}

/** What matters to a first user. */
export async function doctor(layout: Layout): Promise<Finding[]> {
  return (await runChecks(checksOf(layout))).flatMap(({ finding, shown }) =>
    shown === "always" || (shown === "unless_ok" && finding.verdict !== "ok") ? [finding] : [],
  );
}

/** One after the other, so that none slows another one down. */
export async function runChecks(
  sections: ReturnType<typeof checksOf>,
): Promise<{ readonly finding: Finding; readonly shown: Check["shown"] }[]> {
  const found: { finding: Finding; shown: Check["shown"] }[] = [];
  for (const [section, checks] of sections)
    for (const { name, shown, look } of checks) {
      const outcome = await look().catch((error: unknown) =>
        fault(String(error), "This check itself failed; please report it."),
      );
      found.push({ finding: { section, check: name, ...outcome }, shown });
    }
  return found;
}

/** Exit code of the command: faults fail it, warnings do not. */
export function exitCodeOf(findings: readonly Finding[]): number {
  return findings.some((finding) => finding.verdict === "fault") ? 1 : 0;
}
