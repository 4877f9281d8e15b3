// Hosts that are none any more. Their rows stay, because what ran on them names them.

import { sql } from "kysely";
import { moveStatusesOnTarget } from "@skerry/contract/moves/move-status";
import type { Queries } from "../db/database.ts";
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

/** It is asked no more, and its name is free for another one. */
export async function markRemoved(db: Queries, id: string): Promise<void> {
  await sql`update hosts set removed_at = now(), name = name || '~' || id where id = ${id}`.execute(db);
}
