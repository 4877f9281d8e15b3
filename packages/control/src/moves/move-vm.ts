// The steps of a move of a VM that runs.

import { SkerryError, type ErrorCode } from "@skerry/contract/errors";
import type { ArrivalNeeds, VmManifest } from "@skerry/contract/host-api/move-calls";
import { kindOf } from "@skerry/contract/ids";
import type { Context } from "../context.ts";
import { hostEgress } from "../secrets/host-egress.ts";
import type { BothEnds, Ends, MoveSteps, SendingEnds } from "./move-steps.ts";
import { findVm, switchHost, type MovableVm, type MoveRow } from "./move-store.ts";

export function vmSteps({ vm_id }: MoveRow): MoveSteps {
  return {
    resource: kindOf(vm_id) === "machine" ? "machine" : "sandbox",
    ...{ prepare, send, switchHost, goOn, stay },
  };
}

async function prepare(
  context: Context,
  move: MoveRow,
  { source, target }: BothEnds,
  stop: AbortSignal,
): Promise<ArrivalNeeds> {
  const { vm_id: id, ticket } = move;
  const vm = await findVm(context.db, id);
  if (!isAtSource(vm, move)) throw new SkerryError("vm_not_running", "the VM does not run there any more");
  const manifest = await source.moves.manifest(id, move.from_execution_id, stop);
  if (!describes(manifest, vm)) throw new SkerryError("move_refused", "the source describes another VM");
  const { egress_version } = vm;
  const egress = await hostEgress(context, vm);
  const order = {
    ...{ move_id: move.id, execution_id: move.to_execution_id, ticket },
    ...{ egress, egress_version, manifest },
  };
  return target.moves.prepare(id, order, stop);
}

/** The VM stands still when it resolves. */
async function send(
  { id: move_id, vm_id, from_execution_id, to_execution_id, ticket }: MoveRow,
  { source, target, targetAddress: address, layers }: SendingEnds,
  stop: AbortSignal,
): Promise<object> {
  const order = { move_id, execution_id: from_execution_id, address, ticket, layers };
  const departed = await source.moves.send(vm_id, order, stop);
  await target.moves.whole(vm_id, to_execution_id, stop);
  return departed;
}

/** Room was taken for what the row says, and a source may lie. */
function describes({ size, disk_gib, machine }: VmManifest, vm: MovableVm): boolean {
  return (
    size === vm.size && disk_gib <= vm.disk_gib && (machine !== undefined) === (kindOf(vm.id) === "machine")
  );
}

function isAtSource(vm: MovableVm | undefined, move: MoveRow): vm is MovableVm {
  return (
    vm?.status === "running" && vm.host_id === move.from_host_id && vm.execution_id === move.from_execution_id
  );
}

async function goOn(
  context: Context,
  move: MoveRow,
  { source, target }: Ends,
  stop: AbortSignal,
): Promise<void> {
  const vm = await findVm(context.db, move.vm_id);
  // Also where it is to be stopped, or was taken for lost: only what runs can be stopped or found again.
  if (vm !== undefined && !past.has(vm.status) && vm.execution_id === move.to_execution_id) {
    const { egress_version } = vm;
    const egress = await hostEgress(context, vm);
    const order = { execution_id: move.to_execution_id, egress, egress_version };
    await target?.moves.resume(move.vm_id, order, stop).catch((error: unknown) => {
      // Where the VM has ended, VM cleanup says so; after any other error this step is tried again.
      if (!(error instanceof SkerryError) || !ended.has(error.code)) throw error;
      context.log.warn({ err: error, vm_id: move.vm_id }, "a VM did not go on where it was moved to");
      context.wake("vm-cleanup");
    });
  }
  const old = { id: move.vm_id, execution_id: move.from_execution_id };
  await source?.destroyVm(old, stop).catch((error: unknown) => {
    // No row names it any more, so it is removed when its host is back.
    context.log.warn({ err: error, vm_id: move.vm_id }, "a source could not be cleared up yet");
    context.wake("vm-cleanup");
  });
}

/** Statuses in which it should not go on. */
const past: ReadonlySet<string> = new Set(["destroying", "destroyed"]);

/** What a host says of a VM that was on its way and is not there any more. */
const ended: ReadonlySet<ErrorCode> = new Set([
  "vm_not_found",
  "vm_not_running",
  "stale_execution",
  "move_failed",
  "guest_failed",
]);

/** The target first: what it holds can never run again when the source goes on. */
async function stay(
  context: Context,
  move: MoveRow,
  { source, target }: Ends,
  stop: AbortSignal,
): Promise<void> {
  const removed = target
    ?.destroyVm({ id: move.vm_id, execution_id: move.to_execution_id }, stop)
    .catch((error: unknown) => {
      // It was never told to run, and is removed when its host is back.
      context.log.warn({ err: error, vm_id: move.vm_id }, "a target could not be cleared up yet");
    });
  const vm = await findVm(context.db, move.vm_id);
  if (vm?.execution_id === move.from_execution_id) await source?.moves.stay(move.vm_id, move.id, stop);
  await removed;
}
