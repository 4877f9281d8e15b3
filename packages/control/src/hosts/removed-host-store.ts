// Hosts that are none any more. Their rows stay, because what ran on them names them.

import { sql } from "kysely";
import { moveStatusesOnTarget } from "@skerry/contract/moves/move-status";
import type { Database, Queries } from "../db/database.ts";
import { isKeptByHost } from "../db/vm-rows.ts";
import { templatesOnlyOn } from "./host-view-store.ts";

export interface LeavingHost {
  readonly address: string;
  readonly joined: boolean;
  /** What would be lost with it, snapshots too. */
  readonly vms: number;
  /** Those that organizations have built and that no other host has. */
  readonly templates: number;
}

/** Locked until the transaction ends, so that nothing is placed on it meanwhile, and nothing moves to it. */
export async function lockLeavingHost(db: Queries, id: string): Promise<LeavingHost | undefined> {
  await sql`select 1 from hosts where id = ${id} for no key update`.execute(db);
  // A statement of its own, because it has to see what was written while the one before waited.
  const { rows } = await sql<LeavingHost>`
    select address, joined, (
      (select count(*) from vms where host_id = hosts.id and ${isKeptByHost}) +
      (select count(*) from snapshots where host_id = hosts.id and status in ('creating', 'ready')) +
      (select count(*) from moves where to_host_id = hosts.id and status in (${sql.join(moveStatusesOnTarget)}))
    )::integer as vms, ${templatesOnlyOn("hosts.id")} as templates
    from hosts where id = ${id} and removed_at is null`.execute(db);
  return rows[0];
}

export async function setOffline(db: Queries, id: string): Promise<void> {
  await sql`
    update hosts set status = 'offline', version = version + 1, status_since = now(), waits_for = null
    where id = ${id}`.execute(db);
}

/** It is asked no more, what it took with it does not come back, and its name is free for another one. */
export async function markRemoved(db: Queries, id: string): Promise<void> {
  await sql`update hosts set removed_at = now(), name = name || '~' || id where id = ${id}`.execute(db);
  for (const table of ["template_hosts", "template_copies"] as const)
    await db.deleteFrom(table).where("host_id", "=", id).execute();
  await sql`
    update sandboxes set host_lost = false, version = version + 1, status = 'failed', reason = 'its host was removed'
    where host_id = ${id} and (status = 'unreachable' or status = 'failed' and host_lost)`.execute(db);
  await sql`
    update snapshots set status = 'failed', version = version + 1, reason = 'its host was removed', claimed_until = null
    where host_id = ${id} and status in ('creating', 'ready')`.execute(db);
  await sql`
    update machines set host_lost = false, version = version + 1, reason = case
      when restart_disk = 'keep' then 'disk_gone: its host was removed, with its disk' else 'its host was removed' end
    where host_id = ${id} and host_lost`.execute(db);
}

/** No host is left to confirm these destructions. Returns how many there were. */
export async function destroyOnRemovedHosts(db: Database): Promise<number> {
  const { rows } = await sql`
    with removed as (
      select id from hosts where removed_at is not null
    ), vms_gone as (
      update vms set status = 'destroyed', version = version + 1, destroyed_at = now()
      where status = 'destroying' and host_id in (select id from removed) returning id
    ), snapshots_gone as (
      update snapshots set status = 'deleted', version = version + 1, deleted_at = now()
      where status = 'deleting' and host_id in (select id from removed) returning id
    )
    select id from vms_gone union all select id from snapshots_gone`.execute(db);
  return rows.length;
}
