// POST /v1/sandboxes/{id}/snapshots, and the same of machines.

import type { Snapshot } from "@skerry/contract/snapshots/snapshot";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import type { Creation } from "../idempotency/create-once.ts";
import { vmError, type VmRef } from "../vms/vm-kind.ts";
import { checkSnapshotName, snapshotOf, snapshotOutcome } from "./snapshots.ts";
import { takeSnapshot, type SnapshotSource } from "./take-snapshot.ts";

export interface SnapshotRequest extends VmRef {
  readonly name: string | undefined;
  /** Its row, when it runs. */
  readonly running: () => Promise<SnapshotSource>;
}

export function vmSnapshot(
  context: Context,
  caller: Caller,
  { kind, id, name, running }: SnapshotRequest,
): Creation<Snapshot> {
  return {
    create: async (attempt) => {
      const checked = name === undefined ? null : checkSnapshotName(name);
      const taken = takeSnapshot(context, await running(), {
        name: checked,
        begun: (transaction, row) => attempt.begun(transaction, row.id),
        event: (row) => attempt.ready(row),
      });
      return taken.then(snapshotOf, async (error: unknown) => {
        throw await vmError(context, caller, { kind, id }, error);
      });
    },
    outcome: (snapshotId) => snapshotOutcome(context, caller, snapshotId),
  };
}
