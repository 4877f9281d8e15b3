// Saved guests that are to leave their host, and the statements by which they change it.

import { sql } from "kysely";
import type { HostCompatibility } from "@skerry/contract/moves/host-compatibility";
import { moveStatusesUnderWay } from "@skerry/contract/moves/move-status";
import { kindOf, newId, newIdAfter } from "@skerry/contract/ids";
import type { Queries } from "../db/database.ts";
import type { MoveRow } from "./move-store.ts";

/** A sandbox that is paused, or a snapshot. */
export interface MovableSaved {
  readonly id: string;
  readonly host_id: string;
  readonly execution_id: string;
  /** Name of a built-in one, id of another. */
  readonly template: string;
  readonly size: string;
  /** Null where its host alone knows. */
  readonly runs_on: HostCompatibility | null;
}

const underWay = sql`moves.status in (${sql.join(moveStatusesUnderWay)})`;

/** Those on this host, behind this id, that are not on their way yet, oldest first. The snapshot of a fork goes with the fork. */
export async function movableSaved(
  db: Queries,
  hostId: string,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<MovableSaved[]> {
  const { rows } = await sql<MovableSaved>`
    select * from (
      select id, host_id, execution_id, template, size, null::jsonb as runs_on from sandboxes
      where host_id = ${hostId} and status = 'paused'
      union all
      select id, host_id, execution_id, template, size, runs_on from snapshots
      where host_id = ${hostId} and status = 'ready' and not is_internal
    ) saved
    where id > ${after} and not exists (select 1 from moves where vm_id = saved.id and ${underWay})
    order by id limit ${limit}`.execute(db);
  return rows;
}

/** It takes no room at its target. Undefined where it is not at its source any more, is on its way already, or where the target may get nothing. */
export async function insertSavedMove(
  db: Queries,
  saved: MovableSaved,
  { toHostId, ticket }: { readonly toHostId: string; readonly ticket: string },
): Promise<MoveRow | undefined> {
  const { id, host_id, execution_id } = saved;
  const isSnapshot = kindOf(id) === "snapshot";
  // Locked, so that what is read here of the row is what it is when this is written: it may have been carried away a moment before.
  const { rows } = await sql<MoveRow>`
    insert into moves (id, vm_id, from_host_id, to_host_id, from_execution_id, to_execution_id, ticket, vcpus, memory_mib, status)
    select ${newId("move")}, saved.id, saved.host_id, target.id, ${execution_id}, ${newIdAfter("incarnation", execution_id)},
      ${ticket}, 0, 0, 'preparing'
    from (
      select id from hosts
      where id = ${toHostId} and status = 'online' and desired = 'active' and removed_at is null for share
    ) target, (
      select id, host_id from ${sql.table(isSnapshot ? "snapshots" : "sandboxes")}
      where id = ${id} and host_id = ${host_id} and execution_id = ${execution_id}
        and status = ${isSnapshot ? "ready" : "paused"} for share
    ) saved
    on conflict do nothing
    returning *`.execute(db);
  return rows[0];
}

/** Snapshots of the organization, without this one, that are on their way from its host. */
export async function countOthersLeaving(
  db: Queries,
  { id, org_id, host_id }: { readonly id: string; readonly org_id: string; readonly host_id: string },
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from moves join snapshots on snapshots.id = moves.vm_id
    where moves.from_host_id = ${host_id} and ${underWay} and snapshots.org_id = ${org_id} and snapshots.id <> ${id}`.execute(
    db,
  );
  return rows[0]?.count ?? 0;
}

export interface MovableSnapshot {
  readonly size: string;
  readonly disk_gib: number;
}

/** Undefined where it is not on this host, or cannot be used. */
export async function findMovableSnapshot(
  db: Queries,
  id: string,
  hostId: string,
): Promise<MovableSnapshot | undefined> {
  const { rows } = await sql<MovableSnapshot>`
    select size, disk_gib from snapshots where id = ${id} and host_id = ${hostId} and status = 'ready'`.execute(
    db,
  );
  return rows[0];
}

/** Undefined where it cannot be used any more. */
export async function placeOfSnapshot(
  db: Queries,
  id: string,
): Promise<{ readonly host_id: string; readonly is_leaving: boolean } | undefined> {
  const { rows } = await sql<{ host_id: string; is_leaving: boolean }>`
    select host_id, exists (select 1 from moves where vm_id = snapshots.id and ${underWay}) as is_leaving
    from snapshots where id = ${id} and status = 'ready'`.execute(db);
  return rows[0];
}

interface Switched {
  readonly id: string;
  readonly org_id: string;
}

const target = (move: MoveRow) => sql`
  select id as target_id from hosts
  where id = ${move.to_host_id} and status <> 'offline' and removed_at is null for share`;

export async function switchPaused(db: Queries, move: MoveRow): Promise<Switched | undefined> {
  const { rows } = await sql<Switched>`
    with target as materialized (${target(move)})
    update sandboxes set host_id = target_id, execution_id = ${move.to_execution_id}, version = version + 1
    from target
    where id = ${move.vm_id} and status = 'paused'
      and host_id = ${move.from_host_id} and execution_id = ${move.from_execution_id}
    returning id, org_id`.execute(db);
  return rows[0];
}

/** What counts of it is what was taken, however its files are written at the target. */
export async function switchSnapshot(db: Queries, move: MoveRow): Promise<Switched | undefined> {
  const { rows } = await sql<Switched>`
    with target as materialized (${target(move)})
    update snapshots set host_id = target_id, version = version + 1
    from target
    where id = ${move.vm_id} and status = 'ready' and host_id = ${move.from_host_id}
    returning id, org_id`.execute(db);
  return rows[0];
}

/** Whether a VM begins from this snapshot on this host, or one is being rolled back there. */
export async function isUsedAt(db: Queries, snapshotId: string, hostId: string): Promise<boolean> {
  const { rows } = await sql`
    select 1 from sandboxes
    where host_id = ${hostId} and (
      status = 'creating' and snapshot_id = ${snapshotId}
      or status = 'resuming' and next_event ->> 'kind' = 'rolled_back'
      or status = 'unreachable' and rollback ->> 'snapshot_id' = ${snapshotId}
    )
    union all
    select 1 from machines
    where host_id = ${hostId} and (
      status in ('creating', 'starting') and snapshot_id = ${snapshotId}
      or status = 'starting' and next_event ->> 'kind' = 'rolled_back'
    )
    limit 1`.execute(db);
  return rows.length > 0;
}
