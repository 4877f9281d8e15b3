// Whether and when a machine that has ended is started again. Pure.

import { formatDuration } from "@skerry/contract/durations";
import {
  BACKOFF_FIRST_S,
  BACKOFF_MAX_S,
  HEALTHY_AFTER_S,
  type MachineDesired,
  type RestartPolicy,
} from "@skerry/contract/machines/machine-status";

/**
 * The pause before the next start: 1 s, 2 s, 4 s and so on up to 5 min, with equal jitter: one half of it is sure, so that nothing is
 * started again at once, and the other half is chance, so that what failed together does not come back together.
 * `retries` is how many there were in a row; `chance` is from 0 to 1.
 */
export function backoffMs(retries: number, chance: number): number {
  const wholeMs = 1_000 * Math.min(BACKOFF_MAX_S, BACKOFF_FIRST_S * 2 ** Math.min(retries, 30));
  return Math.round(wholeMs / 2 + (wholeMs / 2) * chance);
}

/** What is known of a machine at its end. */
export interface EndedMachine {
  readonly desired: MachineDesired;
  readonly restart_policy: RestartPolicy;
  readonly restart_max_retries: number | null;
  readonly retries: number;
  /** It has run for `HEALTHY_AFTER_S`. */
  readonly ran_well: boolean;
  /** One that never ran was never usable: its creator was told so. */
  readonly has_run: boolean;
  /** It was being rolled back to this snapshot, which has not ended. */
  readonly rollback_to?: string | null;
}

export type NextStep =
  | { readonly kind: "restart"; readonly retries: number; readonly delayMs: number }
  /** `retries` are used up. */
  | { readonly kind: "give_up"; readonly retries: number }
  /** It should not be started again. */
  | { readonly kind: "rest" };

/** `succeeded`: its main process exited with 0. */
export function applyRestartPolicy(ended: EndedMachine, succeeded: boolean, chance: number): NextStep {
  const machine = inRollback(ended) ? { ...ended, ...ofRollback } : ended;
  if (machine.desired !== "running" || !machine.has_run || !isRestarted(machine.restart_policy, succeeded))
    return { kind: "rest" };
  const retries = machine.ran_well ? 0 : machine.retries;
  const max = machine.restart_max_retries;
  if (max !== null && retries >= max) return { kind: "give_up", retries };
  return { kind: "restart", retries: retries + 1, delayMs: backoffMs(retries, chance) };
}

/** Its owner has asked for the rollback, and it is carried out also where it would not be started again by itself. */
const ofRollback = { restart_policy: "on-failure", restart_max_retries: 5 } as const;

function inRollback({ restart_policy, rollback_to = null }: EndedMachine): boolean {
  return restart_policy === "no" && rollback_to !== null;
}

function isRestarted(policy: RestartPolicy, succeeded: boolean): boolean {
  return policy === "always" || (policy === "on-failure" && !succeeded);
}

/** What is added to the reason of a machine that is left as it is. */
export function giveUpReason(retries: number): string {
  const times = retries === 1 ? "once" : `${retries} times`;
  const healthy = formatDuration(HEALTHY_AFTER_S * 1_000);
  return retries === 0
    ? "it is not started again, because its `max_retries` is 0"
    : `it is not started again: it was started ${times} without running for ${healthy}`;
}
