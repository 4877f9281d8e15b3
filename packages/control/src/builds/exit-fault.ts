// How the command of a step ended, as the error of its build.

import { constants } from "node:os";
import { stepFault } from "@skerry/build-plan/plan/step-fault";
import { SkerryError } from "@skerry/contract/errors";
import type { StepRow } from "./build-store.ts";
import type { runStep } from "./run-step.ts";

interface EndedStep {
  readonly step: StepRow;
  readonly leftMs: number;
  readonly tookMs: number;
  readonly last: readonly string[];
  /** Instruction that a Dockerfile's step was at, where that is known. */
  readonly instruction: string | undefined;
}

/** Why a step has failed; undefined where it has not. */
export function exitFault(
  exit: Awaited<ReturnType<typeof runStep>>,
  { step, leftMs, tookMs, last, instruction = step.name }: EndedStep,
): SkerryError | undefined {
  if (exit.timed_out && tookMs >= leftMs)
    return new SkerryError("build_timed_out", "The build took longer than its `timeout`.");
  const signal =
    exit.signal === null ? 0 : (constants.signals[exit.signal as keyof typeof constants.signals] ?? 1);
  const fault = stepFault({ ...exit, signal }, last.at(-1) ?? "");
  if (fault === undefined) return undefined;
  const { code, message } = fault;
  return new SkerryError(code === "step_failed" ? "build_step_failed" : code, `"${instruction}": ${message}`);
}
