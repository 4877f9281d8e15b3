// What the difference between rows and VMs means. Pure: two readings of the rows and one of the host in, actions out.

import type { Vm } from "@skerry/contract/host-api/vm";
import type { SandboxStatus } from "@skerry/contract/sandboxes/sandbox-status";
import { isUnreadableVm } from "../vms/unreadable-vm.ts";
import type { SandboxFact } from "./sandbox-facts.ts";

/** What a host says of a sandbox. */
export interface Found {
  readonly status: "running" | "paused";
  readonly execution_id: string;
}

export type Action =
  /** The VM of a row is gone, or no replica works on the row any more. */
  | { readonly kind: "fail"; readonly row: SandboxFact; readonly reason: string }
  /** The host has not confirmed the egress policy of the row. */
  | { readonly kind: "egress"; readonly row: SandboxFact }
  /** Its end was requested; the host has to confirm it. */
  | { readonly kind: "finish"; readonly row: SandboxFact }
  /** Its host does not understand its record, and has left it as it is. */
  | { readonly kind: "lose"; readonly row: SandboxFact; readonly reason: string }
  /** Its pause was requested; the host has to confirm it. */
  | { readonly kind: "pause"; readonly row: SandboxFact }
  /** Its rollback is under way; the host has not begun with it, or has not ended it. */
  | { readonly kind: "rollback"; readonly row: SandboxFact }
  /** Its host has it in another way than the row says, and counts: the host came back with it, or a replica died while it paused or resumed it. */
  | { readonly kind: "adopt"; readonly row: SandboxFact; readonly found: Found }
  /** A VM that no row wants. `row`: that of this VM, which is over. */
  | { readonly kind: "discard"; readonly vm: Vm; readonly row?: SandboxFact };

/**
 * `before` was read before the host's list and `after` after it. A missing VM is judged by `before`: a row that began to run in
 * between is not missing. A superfluous VM is judged by `after`: its row may have been written in between.
 */
export function sandboxReconcileActions(
  hostId: string,
  before: readonly SandboxFact[],
  vms: readonly Vm[],
  after: readonly SandboxFact[],
): Action[] {
  const vmById = new Map(vms.map((vm) => [vm.id, vm]));
  const rowById = new Map(after.map((row) => [row.id, row]));
  return [
    ...before.flatMap((row) => rowAction(row, vmById.get(row.id)) ?? []),
    ...vms.flatMap((vm) => vmAction(hostId, vm, rowById.get(vm.id)) ?? []),
  ];
}

function rowAction(row: SandboxFact, vm: Vm | undefined): Action | undefined {
  // Neither a running one nor a paused one has a claim.
  return row.claimed && row.status !== "destroying" ? undefined : actionOf[row.status](row, vm);
}

const actionOf: Readonly<
  Record<SandboxStatus, (row: SandboxFact, vm: Vm | undefined) => Action | undefined>
> = {
  creating: (row) => ({
    kind: "fail",
    row,
    reason: "the control plane stopped while it was creating the sandbox",
  }),
  running: livingAction,
  pausing: livingAction,
  paused: livingAction,
  resuming: resumingAction,
  unreachable: unreachableAction,
  destroying: (row) => (row.waiting ? undefined : { kind: "finish", row }),
  failed: () => undefined,
  destroyed: () => undefined,
};

function livingAction(row: SandboxFact, vm: Vm | undefined): Action | undefined {
  if (vm?.cause === "not_adopted")
    return {
      kind: "lose",
      row,
      reason: `its host does not use it now: ${vm.reason ?? "it does not say why"}`,
    };
  const ended = endOf(row, vm);
  if (ended !== undefined) return { kind: "fail", row, reason: `the microVM ended: ${ended}` };
  const found = foundIn(vm);
  // Its host is at work on it.
  return found === undefined ? undefined : foundAction(row, found);
}

/** What its host has of the life before is given up, and what is not there is begun anew. */
function resumingAction(row: SandboxFact, vm: Vm | undefined): Action | undefined {
  if (vm?.cause === "not_adopted" || !isGivenUp(row, vm)) return livingAction(row, vm);
  return row.waiting ? undefined : { kind: "rollback", row };
}

function foundAction(row: SandboxFact, found: Found): Action | undefined {
  if (row.status === "pausing" && found.status === "running")
    return row.waiting ? undefined : { kind: "pause", row };
  if (found.status !== row.status || found.execution_id !== row.execution_id)
    return { kind: "adopt", row, found };
  return row.egress_due && !row.waiting && row.status === "running" ? { kind: "egress", row } : undefined;
}

/** Its host answers. One that the host has as it should be is adopted by the other reading. */
function unreachableAction(row: SandboxFact, vm: Vm | undefined): Action | undefined {
  if (vm?.cause === "not_adopted") return undefined;
  if (isGivenUp(row, vm)) return row.lost && !row.waiting ? { kind: "rollback", row } : undefined;
  const ended = endOf(row, vm);
  return ended === undefined ? undefined : { kind: "fail", row, reason: `the microVM ended: ${ended}` };
}

function endOf(row: SandboxFact, vm: Vm | undefined): string | undefined {
  if (vm?.cause === "disk_unreadable") return vm.reason ?? "its record is damaged";
  if (vm === undefined || !isLifeOf(row, vm)) return "its host does not have it any more";
  return vm.status === "gone" ? (vm.reason ?? "its host does not know why") : undefined;
}

export function foundIn(vm: Vm | undefined): Found | undefined {
  if (vm?.status !== "running" && vm?.status !== "paused") return undefined;
  return { status: vm.status, execution_id: vm.execution_id };
}

/**
 * A later life than the row knows is the row's where it was resumed, or rolled back, by a replica that died, also late: execution ids sort by time. And what is paused is
 * nobody else's: the row is from a backup.
 */
function isLifeOf(row: SandboxFact, vm: Vm): boolean {
  if (vm.execution_id === row.execution_id || vm.execution_id === row.rollback?.execution_id) return true;
  return (
    vm.execution_id > row.execution_id &&
    (row.was_paused || row.status === "resuming" || vm.status === "paused")
  );
}

/** A snapshot is to take its place. */
function isGivenUp({ rollback }: SandboxFact, vm: Vm | undefined): boolean {
  return rollback !== null && vm?.execution_id !== rollback.execution_id;
}

/** Statuses whose VM, if there still is one, is to be removed here; that of a `destroying` row goes with the row. */
const ended: ReadonlySet<string> = new Set(["failed", "destroyed"]);

function vmAction(hostId: string, vm: Vm, row: SandboxFact | undefined): Action | undefined {
  if (row !== undefined && isUnreadableVm(vm)) return discardAction(row, vm);
  // Without a row it may be all that is left of a sandbox, as after a restore of the database; what only runs is not meant to outlive that.
  if (row === undefined) return vm.status === "paused" ? undefined : { kind: "discard", vm };
  const isThis = vm.execution_id === row.execution_id || (row.host_id === hostId && isLifeOf(row, vm));
  if (!isThis) return { kind: "discard", vm };
  return returnAction(row, vm) ?? discardAction(row, vm);
}

/** Of one whose host was taken for dead. */
function returnAction(row: SandboxFact, vm: Vm): Action | undefined {
  const found = row.lost && !isGivenUp(row, vm) ? foundIn(vm) : undefined;
  return found === undefined ? undefined : { kind: "adopt", row, found };
}

function discardAction(row: SandboxFact, vm: Vm): Action | undefined {
  return ended.has(row.status) ? { kind: "discard", vm, row } : undefined;
}
