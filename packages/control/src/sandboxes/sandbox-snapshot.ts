// POST /v1/sandboxes/{id}/snapshots.

import type { Snapshot } from "@skerry/contract/snapshots/snapshot";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import type { Creation } from "../idempotency/create-once.ts";
import { checkSnapshotName, snapshotOf, snapshotOutcome } from "../snapshots/snapshots.ts";
import { takeSnapshot } from "../snapshots/take-snapshot.ts";
import { vmError } from "../vms/vm-kind.ts";
import { resumeSandbox } from "./resume-sandbox.ts";
import { sandboxVms } from "./sandbox-vms.ts";

export function sandboxSnapshot(
  context: Context,
  caller: Caller,
  { id, name }: { readonly id: string; readonly name: string | undefined },
): Creation<Snapshot> {
  return {
    create: async (attempt) => {
      const checked = name === undefined ? null : checkSnapshotName(name);
      const source = await resumeSandbox(context, caller, { id, why: "for a snapshot" });
      const taken = takeSnapshot(context, source, {
        name: checked,
        begun: (transaction, row) => attempt.begun(transaction, row.id),
        event: (row) => attempt.ready(row),
      });
      return taken.then(snapshotOf, async (error: unknown) => {
        throw await vmError(context, caller, { kind: sandboxVms, id }, error);
      });
    },
    outcome: (snapshotId) => snapshotOutcome(context, caller, snapshotId),
  };
}
