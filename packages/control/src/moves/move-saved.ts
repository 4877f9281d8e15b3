// The steps of a move of a saved guest: a snapshot, or a sandbox that is paused. Its files are the source's until the decision and the target's after it;
// whoever asks for it in between finds it where its row says.

import { SkerryError } from "@skerry/contract/errors";
import type { ArrivalNeeds } from "@skerry/contract/host-api/move-calls";
import { kindOf } from "@skerry/contract/ids";
import type { Context } from "../context.ts";
import { hostEgress } from "../secrets/host-egress.ts";
import type { BothEnds, Ends, MoveSteps, SendingEnds } from "./move-steps.ts";
import { findVm, type MoveRow } from "./move-store.ts";
import { findMovableSnapshot, isUsedAt, switchPaused, switchSnapshot } from "./saved-move-store.ts";

export function savedSteps({ vm_id }: MoveRow): MoveSteps {
  return kindOf(vm_id) === "snapshot"
    ? { resource: "snapshot", prepare, send, switchHost: switchSnapshot, goOn: goOnSnapshot, stay }
    : { resource: "sandbox", prepare, send, switchHost: switchPaused, goOn: goOnPaused, stay };
}

async function prepare(
  context: Context,
  move: MoveRow,
  { source, target }: BothEnds,
  stop: AbortSignal,
): Promise<ArrivalNeeds> {
  const { id: move_id, vm_id: id, ticket } = move;
  const { size, disk_gib, paused } = await expected(context, move);
  const manifest = await source.savedMoves.manifest(id, stop);
  // A source may lie.
  if (manifest.size !== size || manifest.disk_gib > disk_gib)
    throw new SkerryError("move_refused", "the source describes something else");
  return target.savedMoves.prepare(id, { move_id, ticket, manifest, ...paused }, stop);
}

/** As the row of it says. */
async function expected(context: Context, move: MoveRow) {
  if (kindOf(move.vm_id) === "snapshot") {
    const snapshot = await findMovableSnapshot(context.db, move.vm_id, move.from_host_id);
    if (snapshot !== undefined) return { ...snapshot, paused: {} };
    throw new SkerryError("snapshot_not_found", "the snapshot is not there any more");
  }
  const vm = await findVm(context.db, move.vm_id);
  if (vm?.status !== "paused" || vm.execution_id !== move.from_execution_id)
    throw new SkerryError("vm_not_running", "the sandbox is not paused there any more");
  const { egress_version } = vm;
  const egress = await hostEgress(context, vm);
  return { ...vm, paused: { paused: { execution_id: move.to_execution_id, egress, egress_version } } };
}

async function send(
  { id: move_id, vm_id, ticket }: MoveRow,
  { source, target, targetAddress: address, layers }: SendingEnds,
  stop: AbortSignal,
): Promise<object> {
  const departed = await source.savedMoves.send(vm_id, { move_id, address, ticket, layers }, stop);
  await target.savedMoves.whole(vm_id, move_id, stop);
  return departed;
}

async function goOnPaused(
  context: Context,
  { vm_id, from_execution_id }: MoveRow,
  { source }: Ends,
  stop: AbortSignal,
): Promise<void> {
  await source?.destroyVm({ id: vm_id, execution_id: from_execution_id }, stop).catch((error: unknown) => {
    // No row names it any more, so it is removed when its host is back.
    context.log.warn({ err: error, vm_id }, "a source could not be cleared up yet");
    context.wake("vm-cleanup");
  });
}

/** Rejects, to be tried again, while something begins at the source that was asked for before the decision, and where the source does not answer:
 *  what a host has of snapshots without a row that names it is left there by VM cleanup. */
async function goOnSnapshot(
  context: Context,
  move: MoveRow,
  { source }: Ends,
  stop: AbortSignal,
): Promise<void> {
  if (source === undefined) return;
  if (await isUsedAt(context.db, move.vm_id, move.from_host_id))
    throw new SkerryError("vm_moving", "Sandboxes begin from the snapshot where it was.");
  await source.snapshots.delete(move.vm_id, stop);
}

/** Nothing was done at the source. */
async function stay(
  context: Context,
  { id: moveId, vm_id, to_execution_id }: MoveRow,
  { target }: Ends,
  stop: AbortSignal,
): Promise<void> {
  if (target === undefined) return;
  const isSnapshot = kindOf(vm_id) === "snapshot";
  try {
    await target.savedMoves.forget(vm_id, moveId, stop);
    if (!isSnapshot) await target.destroyVm({ id: vm_id, execution_id: to_execution_id }, stop);
  } catch (error) {
    if (isSnapshot) throw error;
    // No row names it, so it is removed when its host is back.
    context.log.warn({ err: error, vm_id }, "a target could not be cleared up yet");
  }
}
