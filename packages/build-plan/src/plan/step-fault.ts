// Why a step failed, from how its execution ended. The guest may lie about it, to its own tenant alone.

import { FAULT_PREFIX } from "../scripts/builder-scripts.ts";

/** How an execution ended, as far as it says why. */
export interface StepExit {
  readonly exit_code: number;
  /** Number of the signal that ended it, 0 for none. */
  readonly signal: number;
  readonly timed_out: boolean;
  readonly oom_killed: boolean;
}

/** What the script of a step says that has pulled or pushed in vain. */
const pullFaults = ["image_not_found", "image_invalid", "registry_denied", "registry_unreachable"] as const;
type PullFault = (typeof pullFaults)[number];

export interface StepFault {
  readonly code:
    | "step_failed"
    | "step_timed_out"
    | "build_out_of_memory"
    | "context_too_large"
    | "disk_full"
    | "guest_failed"
    | PullFault;
  /** A sentence. */
  readonly message: string;
}

const BUILDER_FAULT = 125;
const MESSAGE_MAX_CHARS = 500;

/** Undefined where the step has succeeded. `lastLine` is the last one that it wrote to standard error. */
export function stepFault(exit: StepExit, lastLine: string): StepFault | undefined {
  if (exit.timed_out) return { code: "step_timed_out", message: "The step took too long and was ended." };
  if (exit.exit_code === 0 && exit.signal === 0) return undefined;
  const own = exit.exit_code === BUILDER_FAULT ? builderFault(lastLine) : undefined;
  if (own !== undefined) return own;
  // A command may go on where one of its processes was killed; what it ends with is then all that is left of that.
  if (exit.oom_killed)
    return { code: "build_out_of_memory", message: "The step needed more memory than the builder has." };
  const how = exit.signal === 0 ? `exited with ${exit.exit_code}` : `was ended by signal ${exit.signal}`;
  return { code: "step_failed", message: `The step ${how}.` };
}

function builderFault(line: string): StepFault | undefined {
  if (!line.startsWith(FAULT_PREFIX)) return undefined;
  const [word = "", ...rest] = line.slice(FAULT_PREFIX.length, MESSAGE_MAX_CHARS).split(": ");
  const text = rest.join(": ");
  const message = text === "" ? "The builder failed." : `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
  if (word === "disk_full" || word === "context_too_large") return { code: word, message };
  const pull = pullFaults.find((fault) => fault === word);
  if (pull !== undefined) return { code: pull, message };
  if (word === "step_invalid") return { code: "step_failed", message };
  return { code: "guest_failed", message };
}
