// What the difference between the rows of machines and the VMs of one host means. Pure: two readings of the rows and one of the host in,
// actions out.

import type { Vm } from "@skerry/contract/host-api/vm";
import type { MachineStatus } from "@skerry/contract/machines/machine-status";
import { isUnreadableVm } from "../vms/unreadable-vm.ts";
import { diskGone, exitReasonOf, type ExitReason } from "./exit-reason.ts";
import type { MachineFact } from "./machine-facts.ts";

export type MachineAction =
  /** Its VM has ended, or the replica that worked on it has died: its policy decides. */
  | { readonly kind: "end"; readonly row: MachineFact; readonly ending: ExitReason }
  /** The replica that was making it, and others with it, by a fork has died: there is to be none of them. */
  | { readonly kind: "abandon"; readonly row: MachineFact }
  /** It runs although its row does not say so: the replica that started it died, or its host was taken for dead. */
  | { readonly kind: "adopt"; readonly row: MachineFact }
  /** It should not run any more; its disk stays. `vm`: what its host has of this life. */
  | { readonly kind: "stop"; readonly row: MachineFact; readonly vm: Vm | undefined }
  /** It was stopped to be started again, and that start has not come. */
  | { readonly kind: "queue"; readonly row: MachineFact }
  /** The host has not confirmed the egress policy of the row. */
  | { readonly kind: "egress"; readonly row: MachineFact }
  /** Its end was requested; the host has to confirm it. */
  | { readonly kind: "finish"; readonly row: MachineFact }
  /** A VM that runs and should not, of a machine whose disk is here. `row`: that of this machine, which is at
   *  rest. */
  | { readonly kind: "halt"; readonly vm: Vm; readonly row?: MachineFact }
  /** Its host is back, and it does not run there. */
  | { readonly kind: "return"; readonly row: MachineFact; readonly ending: ExitReason }
  /** A VM that its row does not need, with its disk: the machine was destroyed, or runs on another host.
   *  `row`: that of this machine, which is over. */
  | { readonly kind: "discard"; readonly vm: Vm; readonly row?: MachineFact };

/** `before` was read before the host's list and `after` after it: see `sandbox-reconcile.ts`. */
export function machineReconcileActions(
  hostId: string,
  before: readonly MachineFact[],
  vms: readonly Vm[],
  after: readonly MachineFact[],
): MachineAction[] {
  const vmById = new Map(vms.map((vm) => [vm.id, vm]));
  const rowById = new Map(after.map((row) => [row.id, row]));
  return [
    ...before.flatMap((row) => rowAction(row, vmById.get(row.id)) ?? []),
    ...vms.flatMap((vm) => vmAction(hostId, vm, rowById.get(vm.id)) ?? []),
  ];
}

function rowAction(row: MachineFact, listed: Vm | undefined): MachineAction | undefined {
  if (row.status === "failed") return returnAction(row, listed);
  // One of an earlier life says nothing about this one; of one that is not understood the life is not known.
  const isThis = listed !== undefined && (listed.execution_id === row.execution_id || isUnreadableVm(listed));
  return actionOf[row.status](row, isThis ? listed : undefined);
}

/** Of a machine that failed with its host. */
function returnAction(row: MachineFact, vm: Vm | undefined): MachineAction | undefined {
  if (!row.host_lost || row.desired !== "running" || !row.has_run) return undefined;
  if (vm === undefined)
    return { kind: "return", row, ending: row.rollback_to === null ? diskGone : rollbackBrokeOff };
  if (vm.status === "running" || vm.status === "creating" || vm.cause === "not_adopted") return undefined;
  return { kind: "return", row, ending: exitReasonOf(vm) };
}

type Decide = (row: MachineFact, vm: Vm | undefined) => MachineAction | undefined;

const actionOf: Readonly<Record<MachineStatus, Decide>> = {
  creating: (row) => {
    if (row.claimed) return undefined;
    return row.is_unfinished_fork ? { kind: "abandon", row } : { kind: "end", row, ending: died("creating") };
  },
  starting: (row, vm) => (row.claimed ? undefined : startingAction(row, vm)),
  running: runningAction,
  stopping: (row, vm) => {
    if (row.claimed || row.waiting) return undefined;
    return vm !== undefined && isUnreadableVm(vm)
      ? { kind: "end", row, ending: exitReasonOf(vm) }
      : { kind: "stop", row, vm };
  },
  stopped: (row) => (row.restart_wished && !row.queued ? { kind: "queue", row } : undefined),
  destroying: (row) => (row.waiting ? undefined : { kind: "finish", row }),
  failed: () => undefined,
  destroyed: () => undefined,
};

function startingAction(row: MachineFact, vm: Vm | undefined): MachineAction | undefined {
  if (vm?.status === "running") return { kind: "adopt", row };
  // The host goes on with what it was asked for; it ends well or not.
  if (vm?.status === "creating") return undefined;
  return { kind: "end", row, ending: vm?.status === "gone" ? exitReasonOf(vm) : died("starting") };
}

function runningAction(row: MachineFact, vm: Vm | undefined): MachineAction | undefined {
  if (vm?.status !== "running" && vm?.status !== "creating")
    return { kind: "end", row, ending: exitReasonOf(vm) };
  if (row.desired === "stopped") return { kind: "stop", row, vm };
  return row.egress_due && !row.waiting ? { kind: "egress", row } : undefined;
}

/** Of a host's VM judged by the row that was read after it. */
function vmAction(hostId: string, vm: Vm, row: MachineFact | undefined): MachineAction | undefined {
  // Without a row the disk may be all that is left of a machine, as after a restore of the database. It stays, and there is nothing to do.
  if (row === undefined) return haltAction(vm);
  if (row.status === "destroyed") return { kind: "discard", vm, row };
  if (row.host_id !== hostId) return isLeftBehind(vm, row) ? { kind: "discard", vm } : haltAction(vm);
  return row.status === "destroying" ? undefined : atHomeAction(vm, row);
}

/**
 * Only a machine that runs elsewhere has proved that it does not need this disk, and only where it began to run there later: execution ids
 * sort by time. A row with an earlier one was restored from a backup of before the machine came here, and says `running` of a life that is
 * over. What is still being made here is no exception: it is the target of a move that was given up.
 */
function isLeftBehind(vm: Vm, row: MachineFact): boolean {
  if (row.status !== "running" || isUnreadableVm(vm)) return false;
  return vm.status === "creating" || vm.execution_id < row.execution_id;
}

/** Of a VM on the host that its row names. */
function atHomeAction(vm: Vm, row: MachineFact): MachineAction | undefined {
  if (isUnreadableVm(vm) && row.status === "stopped") return { kind: "end", row, ending: exitReasonOf(vm) };
  // What does not run is the machine's disk.
  if (haltAction(vm) === undefined) return undefined;
  if (row.execution_id !== vm.execution_id) return { kind: "halt", vm };
  return row.status === "stopped" || row.status === "failed" ? unwantedAction(vm, row) : undefined;
}

function haltAction(vm: Vm): MachineAction | undefined {
  return vm.status === "running" || vm.status === "creating" ? { kind: "halt", vm } : undefined;
}

/** Of a VM that runs although its row is at rest. */
function unwantedAction(vm: Vm, row: MachineFact): MachineAction {
  const wasLost = row.status === "failed" && row.host_lost && row.desired === "running";
  if (wasLost && vm.status === "running") return { kind: "adopt", row };
  return row.has_run || row.host_lost ? { kind: "halt", vm, row } : { kind: "discard", vm, row };
}

/** Its disk was given up for a snapshot, at which its next start begins. */
const rollbackBrokeOff: ExitReason = {
  reason: "its host was lost while it was rolled back",
  ...{ cause: "start_failed", exitCode: null, succeeded: false },
};

function died(what: "creating" | "starting"): ExitReason {
  return {
    reason: `the control plane stopped while it was ${what} the machine`,
    cause: "start_failed",
    exitCode: null,
    succeeded: false,
  };
}
