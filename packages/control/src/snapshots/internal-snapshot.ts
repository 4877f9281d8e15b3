// The snapshot that a fork is made of. It counts against no quota, is shown to nobody, and lives as long as the claim of the fork on it.

import type { Context } from "../context.ts";
import { extendSnapshotClaim, internalSnapshot, transitionSnapshot } from "./snapshot-store.ts";
import { finishDeleting } from "./snapshots.ts";

export function extendInternalClaim(context: Context, id: string): Promise<void> {
  return extendSnapshotClaim(context.db, id);
}

/** Its files are removed at once, or by VM cleanup where the host does not answer. */
export async function forgetInternal(context: Context, id: string): Promise<void> {
  try {
    const row = await internalSnapshot(context.db, id);
    if (row === undefined || row.status === "deleted") return;
    const deleting = row.status === "deleting" ? row : await transitionSnapshot(context.db, row, "deleting");
    if (deleting !== undefined) await finishDeleting(context, deleting);
  } catch (error) {
    context.log.warn({ err: error, snapshot_id: id }, "the snapshot of a fork could not be removed yet");
    context.wake("vm-cleanup");
  }
}
