// Rows of snapshots. A change of status names the version that the decision was about, and is refused when that is old.

import { sql } from "kysely";
import type { HostSnapshot } from "@skerry/contract/host-api/snapshots";
import { canSnapshotTransition, type SnapshotStatus } from "@skerry/contract/snapshots/snapshot-status";
import { SkerryError } from "@skerry/contract/errors";
import { idKinds } from "@skerry/contract/ids";
import { auditEventFrom, type NewAuditEvent } from "../audit/insert-audit-events.ts";
import { claimedAnew, isClaimed } from "../db/claims.ts";
import type { Database, Queries } from "../db/database.ts";
import { quoted } from "../values/quoted.ts";
import { noteSnapshot } from "../vms/note-snapshot.ts";
import { isPostponed } from "../vms/postpone.ts";
import type { SnapshotRow } from "./snapshot-row.ts";

const shownColumns = sql`*, (
  select name from hosts where hosts.id = snapshots.host_id and hosts.status = 'offline' and removed_at is null
) as lost_host`;

export type NewSnapshot = Pick<
  SnapshotRow,
  | "id"
  | "org_id"
  | "name"
  | "vm_id"
  | "execution_id"
  | "parent_id"
  | "template"
  | "size"
  | "disk_gib"
  | "host_id"
  | "is_internal"
  | "command"
  | "contains_secrets"
>;

const UNIQUE_VIOLATION = "23505";

/** Throws `name_taken`. */
export async function insertSnapshot(db: Queries, snapshot: NewSnapshot): Promise<SnapshotRow> {
  return db
    .insertInto("snapshots")
    .values({
      ...snapshot,
      // Those of the snapshot that its VM was rolled back to are in its memory too.
      contains_secrets: sql<boolean>`${snapshot.contains_secrets} or coalesce(
        (select contains_secrets from snapshots where id = ${snapshot.parent_id}), false)`,
      status: "creating",
      claimed_until: claimedAnew,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
    .catch((error: unknown) => {
      const { code } = (error ?? {}) as { code?: unknown };
      if (snapshot.name === null || code !== UNIQUE_VIOLATION) throw error;
      throw new SkerryError(
        "name_taken",
        `Another snapshot of the organization has the name ${quoted(snapshot.name)}.`,
        {
          remediation: "Choose another name, or delete the snapshot that has it: paths take its name.",
          context: { field: "name", value: snapshot.name },
          cause: error,
        },
      );
    });
}

/** Says that a replica is still at work on it, or on what is made of it. */
export async function extendSnapshotClaim(db: Database, id: string): Promise<void> {
  await sql`
    update snapshots set claimed_until = ${claimedAnew}
    where id = ${id} and (status = 'creating' or is_internal)`.execute(db);
}

/** What snapshots are of. */
export type SnapshotOf = "sandbox" | "machine";

/** Those that a caller may know of. */
export interface ShownSnapshots {
  readonly orgId: string;
  readonly of: readonly SnapshotOf[];
}

const isShown = ({ orgId, of }: ShownSnapshots) => sql`
  org_id = ${orgId} and status <> 'deleted' and not is_internal
  and split_part(vm_id, '_', 1) = any(${of.map((noun) => idKinds[noun])}::text[])`;

/** By id or name. Undefined where there is none. */
export async function findSnapshot(
  db: Queries,
  shown: ShownSnapshots,
  asked: string,
): Promise<SnapshotRow | undefined> {
  const { rows } = await sql<SnapshotRow>`
    select ${shownColumns} from snapshots
    where ${isShown(shown)} and (id = ${asked} or name = ${asked} and status <> 'failed')
    order by id = ${asked} desc limit 1`.execute(db);
  return rows[0];
}

export async function listSnapshots(
  db: Queries,
  shown: ShownSnapshots,
  { before, limit }: { readonly before: string | undefined; readonly limit: number },
): Promise<SnapshotRow[]> {
  const { rows } = await sql<SnapshotRow>`
    select ${shownColumns} from snapshots
    where ${isShown(shown)}
      and (${before ?? null}::text is null or id < ${before ?? null})
    order by id desc limit ${limit}`.execute(db);
  return rows;
}

export async function snapshotsOfIds(
  db: Queries,
  orgId: string,
  ids: readonly string[],
): Promise<SnapshotRow[]> {
  const { rows } = await sql<SnapshotRow>`
    select ${shownColumns} from snapshots
    where org_id = ${orgId} and id = any(${ids}::text[]) and status <> 'deleted' and not is_internal`.execute(
    db,
  );
  return rows;
}

type Seen = Pick<SnapshotRow, "id" | "version" | "status">;

/** Undefined where another writer was first. What is not ready, and will not be, has no claim. */
export async function transitionSnapshot(
  db: Queries,
  seen: Seen,
  to: SnapshotStatus,
  {
    reason = null,
    taken,
    isGivenUp = false,
  }: {
    readonly reason?: string | null;
    readonly taken?: HostSnapshot;
    /** The host has not carried out the deletion. Attempts go on to be counted, which keeps the row among
     *  those that the host should lose. */
    readonly isGivenUp?: boolean;
  } = {},
): Promise<SnapshotRow | undefined> {
  if (!canSnapshotTransition(seen.status, to))
    throw new Error(`a snapshot cannot move from ${seen.status} to ${to}`);
  const { rows } = await sql<SnapshotRow>`
    update snapshots set
      status = ${to}, version = version + 1, reason = coalesce(${reason}, reason), retry_at = now(),
      attempts = ${isGivenUp ? sql`attempts` : sql`0`},
      claimed_until = case when is_internal and ${to} = 'ready' then ${claimedAnew} end,
      memory_bytes = coalesce(${taken?.memory_bytes ?? null}::bigint, memory_bytes),
      disk_bytes = coalesce(${taken?.disk_bytes ?? null}::bigint, disk_bytes),
      runs_on = coalesce(${taken === undefined ? null : JSON.stringify(taken.runs_on)}::jsonb, runs_on),
      deleted_at = case when ${to} = 'deleted' then now() end
    where id = ${seen.id} and version = ${seen.version} and status = ${seen.status}
    returning *`.execute(db);
  return rows[0];
}

/** It is there. Its sandbox, or its machine, goes on from it, where that is still the life that it was taken of. */
export async function snapshotTaken(
  db: Database,
  seen: Seen,
  { taken, event }: { readonly taken: HostSnapshot; readonly event: NewAuditEvent | undefined },
): Promise<SnapshotRow | undefined> {
  return db.transaction().execute(async (transaction) => {
    const ready = await transitionSnapshot(transaction, seen, "ready", { taken });
    if (ready === undefined || ready.is_internal) return ready;
    await noteSnapshot(transaction, ready);
    if (event !== undefined) await auditEventFrom(sql`(select 1) as taken`, event).execute(transaction);
    return ready;
  });
}

/** A snapshot as its host's list is compared with it. */
export interface SnapshotFact extends Pick<
  SnapshotRow,
  "id" | "status" | "version" | "is_internal" | "attempts"
> {
  /** A replica is taking it, or makes a fork of it, at this moment. */
  readonly claimed: boolean;
  /** What failed is not due for its next attempt yet. */
  readonly waiting: boolean;
}

const FACTS_MAX = 20_000;
const FACTS = sql`id, status, version, is_internal, attempts, ${isClaimed()} as claimed, ${isPostponed} as waiting`;

/** Of every snapshot that this host should have, or should lose. */
export async function snapshotsOnHost(db: Queries, hostId: string): Promise<SnapshotFact[]> {
  const { rows } = await sql<SnapshotFact>`
    select ${FACTS} from snapshots
    where host_id = ${hostId} and (
      status in ('creating', 'ready', 'deleting')
      or status = 'deleted' and (deleted_at > now() - interval '1 hour' or attempts > 0)
    )
    order by retry_at limit ${FACTS_MAX}`.execute(db);
  return rows;
}

/** Nothing of one that was deleted is left on its host. */
export async function confirmDeleted(db: Queries, id: string): Promise<void> {
  await sql`update snapshots set attempts = 0 where id = ${id} and status = 'deleted'`.execute(db);
}

export async function internalSnapshot(db: Queries, id: string): Promise<SnapshotRow | undefined> {
  const { rows } = await sql<SnapshotRow>`select * from snapshots where id = ${id} and is_internal`.execute(
    db,
  );
  return rows[0];
}

/** Where it is; undefined where it cannot be used any more. */
export async function snapshotHost(db: Queries, id: string): Promise<string | undefined> {
  const { rows } = await sql<{ host_id: string }>`
    select host_id from snapshots where id = ${id} and status = 'ready'`.execute(db);
  return rows[0]?.host_id;
}

/** Whether a VM is on its way back to it, and has perhaps nothing else to go on with. */
export async function isGoneBackTo(db: Queries, id: string): Promise<boolean> {
  const { rows } = await sql`
    select 1 from sandboxes where status in ('resuming', 'unreachable') and rollback ->> 'snapshot_id' = ${id}
    union all
    select 1 from machines where status = 'starting' and rollback_to = ${id}
    limit 1`.execute(db);
  return rows.length > 0;
}
