// The snapshots' part of VM cleanup, on one host.

import { SkerryError } from "@skerry/contract/errors";
import type { HostSnapshot } from "@skerry/contract/host-api/snapshots";
import { recordOwnActs } from "../audit/audit-log.ts";
import type { Context } from "../context.ts";
import type { HostClient } from "../host-client/host-client.ts";
import { orPostpone } from "../vms/postpone.ts";
import { confirmDeleted, snapshotsOnHost, transitionSnapshot, type SnapshotFact } from "./snapshot-store.ts";
import { snapshotReconcileActions, type SnapshotAction } from "./snapshot-reconcile.ts";
import { finishDeleting } from "./snapshots.ts";

interface Work {
  readonly hostId: string;
  readonly client: HostClient;
  readonly stop: AbortSignal;
  /** The background service that acts. */
  readonly service: string;
}

/** What is to be done on this host. */
export async function snapshotWork(context: Context, work: Work): Promise<(() => Promise<void>)[]> {
  const rows = await snapshotsOnHost(context.db, work.hostId);
  // A host that never had one may be of a version that knows none.
  if (rows.length === 0) return [];
  const listed = await listOf(work);
  return snapshotReconcileActions(rows, listed).map((action) => () => carryOut(context, action, work));
}

async function listOf({ client, stop }: Work): Promise<readonly HostSnapshot[]> {
  return client.snapshots.list(stop).catch((error: unknown) => {
    if (error instanceof SkerryError && error.code === "not_found") return [];
    throw error;
  });
}

async function carryOut(context: Context, action: SnapshotAction, work: Work): Promise<void> {
  switch (action.kind) {
    case "ready":
      await transitionSnapshot(context.db, action.row, "ready", { taken: action.taken });
      return;
    case "fail":
      return fail(context, action, work);
    case "forget": {
      const deleting = await transitionSnapshot(context.db, action.row, "deleting");
      return deleting && finish(context, deleting, work);
    }
    case "finish":
      return finish(context, action.row, work);
    case "discard":
      return orPostpone(context, action.row, async () => {
        await work.client.snapshots.delete(action.row.id, work.stop);
        await confirmDeleted(context.db, action.row.id);
      });
  }
}

async function fail(
  context: Context,
  { row, reason }: SnapshotAction & { kind: "fail" },
  { service }: Work,
): Promise<void> {
  await context.db.transaction().execute(async (transaction) => {
    const failed = await transitionSnapshot(transaction, row, "failed", { reason });
    if (failed === undefined) return;
    context.log.warn({ snapshot_id: row.id, reason }, "a snapshot has failed");
    await recordOwnActs(transaction, { service, action: "snapshot.fail", resource: "snapshot" }, [failed]);
  });
}

async function finish(
  context: Context,
  row: Pick<SnapshotFact, "id" | "status" | "version" | "attempts">,
  { hostId, stop }: Work,
): Promise<void> {
  return orPostpone(
    context,
    row,
    () => finishDeleting(context, { ...row, host_id: hostId }, stop),
    // VM cleanup removes what the host still has, as it removes what comes there after the end of a snapshot.
    async () => void (await transitionSnapshot(context.db, row, "deleted", { isGivenUp: true })),
  );
}
