// What the difference between rows and VMs means. Pure: two readings of the rows and one of the host in, actions out.

import type { Vm } from "@skerry/contract/host-api/vm";
import { isUnreadableVm } from "../vms/unreadable-vm.ts";
import type { SandboxFact } from "./sandbox-facts.ts";

export type Action =
  /** The VM of a row is gone, or no replica works on the row any more. */
  | { readonly kind: "fail"; readonly row: SandboxFact; readonly reason: string }
  /** The host has not confirmed the egress policy of the row. */
  | { readonly kind: "egress"; readonly row: SandboxFact }
  /** Its end was requested; the host has to confirm it. */
  | { readonly kind: "finish"; readonly row: SandboxFact }
  /** Its host does not understand its record, and has left it as it is. */
  | { readonly kind: "lose"; readonly row: SandboxFact; readonly reason: string }
  /** Its host was taken for dead, and came back with its VM. */
  | { readonly kind: "adopt"; readonly row: SandboxFact }
  /** A VM that no row wants. */
  | { readonly kind: "discard"; readonly vm: Vm };

/**
 * `before` was read before the host's list and `after` after it. A missing VM is judged by `before`: a row that began to run in
 * between is not missing. A superfluous VM is judged by `after`: its row may have been written in between.
 */
export function sandboxReconcileActions(
  before: readonly SandboxFact[],
  vms: readonly Vm[],
  after: readonly SandboxFact[],
): Action[] {
  const vmById = new Map(vms.map((vm) => [vm.id, vm]));
  const rowById = new Map(after.map((row) => [row.id, row]));
  return [
    ...before.flatMap((row) => rowAction(row, vmById.get(row.id)) ?? []),
    ...vms.flatMap((vm) => vmAction(vm, rowById.get(vm.id)) ?? []),
  ];
}

function rowAction(row: SandboxFact, vm: Vm | undefined): Action | undefined {
  switch (row.status) {
    case "creating":
      if (row.claimed) return undefined;
      return { kind: "fail", row, reason: "the control plane stopped while it was creating the sandbox" };
    case "running":
      return runningAction(row, vm);
    case "unreachable":
      return unreachableAction(row, vm);
    case "destroying":
      return row.waiting ? undefined : { kind: "finish", row };
    case "failed":
    case "destroyed":
      return undefined;
  }
}

function runningAction(row: SandboxFact, vm: Vm | undefined): Action | undefined {
  if (vm?.cause === "not_adopted")
    return {
      kind: "lose",
      row,
      reason: `its host does not use it now: ${vm.reason ?? "it does not say why"}`,
    };
  const ended = endOf(row, vm);
  if (ended !== undefined) return { kind: "fail", row, reason: `the microVM ended: ${ended}` };
  return row.egress_due && !row.waiting ? { kind: "egress", row } : undefined;
}

/** Its host answers. One that runs there is adopted by the other reading. */
function unreachableAction(row: SandboxFact, vm: Vm | undefined): Action | undefined {
  if (vm?.cause === "not_adopted") return undefined;
  const ended = endOf(row, vm);
  return ended === undefined ? undefined : { kind: "fail", row, reason: `the microVM ended: ${ended}` };
}

function endOf(row: SandboxFact, vm: Vm | undefined): string | undefined {
  if (vm?.cause === "disk_unreadable") return vm.reason ?? "its record is damaged";
  if (vm?.execution_id !== row.execution_id) return "its host does not have it any more";
  return vm.status === "gone" ? (vm.reason ?? "its host does not know why") : undefined;
}

/** Statuses whose VM, if there still is one, is to be removed here; that of a `destroying` row goes with the row. */
const ended: ReadonlySet<string> = new Set(["failed", "destroyed"]);

function vmAction(vm: Vm, row: SandboxFact | undefined): Action | undefined {
  if (row !== undefined && isUnreadableVm(vm))
    return ended.has(row.status) ? { kind: "discard", vm } : undefined;
  if (row === undefined || row.execution_id !== vm.execution_id) return { kind: "discard", vm };
  if (row.lost && vm.status === "running") return { kind: "adopt", row };
  return ended.has(row.status) ? { kind: "discard", vm } : undefined;
}
