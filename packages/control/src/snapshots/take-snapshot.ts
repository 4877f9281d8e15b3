// A snapshot from the request to its files. The row is written first; a replica that dies on the way is followed by VM cleanup, which asks the host
// whether it has the snapshot.

import { SkerryError } from "@skerry/contract/errors";
import { newId } from "@skerry/contract/ids";
import type { NewAuditEvent } from "../audit/insert-audit-events.ts";
import { checkSnapshotQuota } from "../capacity/snapshot-quota.ts";
import type { Context } from "../context.ts";
import type { ShownSecret } from "@skerry/contract/vms/secrets";
import type { Queries } from "../db/database.ts";
import { lockOrganization } from "../limits/organization-limits.ts";
import { keepClaim } from "../vms/vm-claims.ts";
import { isAnswer } from "../vms/is-answer.ts";
import { clientOf } from "../vms/vm-kind.ts";
import { extendSnapshotClaim, insertSnapshot, snapshotTaken, transitionSnapshot } from "./snapshot-store.ts";
import type { SnapshotRow } from "./snapshot-row.ts";

/** The row of a sandbox or of a machine that runs. */
export interface SnapshotSource {
  readonly id: string;
  readonly org_id: string;
  readonly execution_id: string;
  readonly host_id: string;
  readonly template: string;
  readonly size: string;
  readonly disk_gib: number;
  /** The snapshot that it comes from, or that was taken of it last. */
  readonly snapshot_id: string | null;
  /** Of a machine's main process. */
  readonly command?: string | null;
  readonly secrets: ShownSecret[] | null;
}

export interface TakeOptions {
  readonly name: string | null;
  /** Told of the row in the transaction that writes it. */
  readonly begun: (transaction: Queries, row: SnapshotRow) => Promise<void>;
  /** Written with the snapshot's being there. */
  readonly event: (row: SnapshotRow) => NewAuditEvent | undefined;
}

/** Resolves when its files are there; the VM goes on meanwhile. */
export async function takeSnapshot(
  context: Context,
  source: SnapshotSource,
  { name, begun, event }: TakeOptions,
): Promise<SnapshotRow> {
  const row = await context.db.transaction().execute(async (transaction) => {
    await lockOrganization(transaction, source.org_id);
    await checkSnapshotQuota(context, transaction, source.org_id);
    const written = await insertSnapshot(transaction, newSnapshot(source, name, false));
    await begun(transaction, written);
    return written;
  });
  return finishTaking(context, row, event(row));
}

/** Of what is to be forked: it counts as nothing, is shown to nobody, and is deleted when its claim lapses. */
export function newInternalSnapshot(transaction: Queries, source: SnapshotSource): Promise<SnapshotRow> {
  return insertSnapshot(transaction, newSnapshot(source, null, true));
}

function newSnapshot(source: SnapshotSource, name: string | null, isInternal: boolean) {
  const {
    id: vmId,
    org_id,
    execution_id,
    host_id,
    template,
    size,
    disk_gib,
    snapshot_id,
    command,
    secrets,
  } = source;
  return {
    id: newId("snapshot"),
    org_id,
    name,
    vm_id: vmId,
    execution_id,
    parent_id: snapshot_id,
    template,
    size,
    disk_gib,
    host_id,
    is_internal: isInternal,
    command: command ?? null,
    contains_secrets: secrets !== null,
  };
}

/** Has the host take what the row says, as `creating`, and says so in the row. */
export async function finishTaking(
  context: Context,
  row: SnapshotRow,
  event?: NewAuditEvent,
): Promise<SnapshotRow> {
  using _claim = keepClaim(context, () => extendSnapshotClaim(context.db, row.id));
  try {
    const client = await clientOf(context, row);
    const taken = await client.snapshots.take({ id: row.vm_id, execution_id: row.execution_id }, row.id);
    const ready = await snapshotTaken(context.db, row, { taken, event });
    if (ready !== undefined) return ready;
  } catch (error) {
    if (isAnswer(error)) await transitionSnapshot(context.db, row, "failed", { reason: error.message });
    else context.wake("vm-cleanup");
    throw error;
  }
  throw new SkerryError("snapshot_not_found", "The snapshot was deleted while it was being taken.");
}
