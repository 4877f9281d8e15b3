// What becomes of a sandbox whose rollback did not get on. Pure.

import { SkerryError, type ErrorCode } from "@skerry/contract/errors";
import type { Vm } from "@skerry/contract/host-api/vm";
import { isAnswer } from "../vms/is-answer.ts";
import { TRIES_MAX } from "../vms/postpone.ts";
import { foundIn, type Found } from "./sandbox-reconcile.ts";
import type { SandboxRow } from "./sandbox-store.ts";

export type NextStep =
  /** The host has refused the snapshot, and has the sandbox as it was. */
  | { readonly kind: "goes_on"; readonly found: Found }
  /** Nothing is left of it, and nothing helps. */
  | { readonly kind: "failed"; readonly reason: string }
  /** Later, by VM cleanup. */
  | { readonly kind: "again" };

export const AGAIN: NextStep = { kind: "again" };

/** Another attempt would end in the same way. */
const finalCodes: ReadonlySet<ErrorCode> = new Set([
  "bad_request",
  "snapshot_not_found",
  "snapshot_damaged",
  "snapshot_incompatible",
]);

type RollingBack = Pick<SandboxRow, "attempts" | "execution_id" | "rollback">;

/** `vm` is what the host has after the attempt. */
export function afterAttempt(row: RollingBack, vm: Vm | undefined, error: unknown): NextStep {
  // The attempt went well after all, or is still under way.
  if (vm !== undefined && vm.execution_id === row.rollback?.execution_id) return AGAIN;
  const isOver = row.attempts + 1 >= TRIES_MAX;
  const found = vm?.execution_id === row.execution_id ? foundIn(vm) : undefined;
  if (found !== undefined) return isOver || isAnswer(error) ? { kind: "goes_on", found } : AGAIN;
  return isOver || isFinal(error) ? { kind: "failed", reason: reasonOf(row, error) } : AGAIN;
}

function isFinal(error: unknown): boolean {
  return error instanceof SkerryError && finalCodes.has(error.code);
}

function reasonOf({ rollback }: RollingBack, error: unknown): string {
  const why = error instanceof SkerryError ? error.message : "internal error";
  return `could not be rolled back to snapshot ${rollback?.snapshot_id}: ${why}`;
}
