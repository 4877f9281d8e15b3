// Rows of machines that one fork makes.

import { sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import { erasedEnv } from "../vms/env.ts";
import type { MachineRow } from "./machine-store.ts";

const noRestart = sql`null::timestamptz as restart_at, null::jsonb as restart_waits`;

/** All that were made of this internal snapshot. */
export async function findMachineForks(
  db: Queries,
  orgId: string,
  snapshotId: string,
): Promise<MachineRow[]> {
  const { rows } = await sql<MachineRow>`
    select *, ${noRestart} from machines where forked_by = ${snapshotId} and org_id = ${orgId} order by id`.execute(
    db,
  );
  return rows;
}

/** Those that never ran, also where another writer has failed them meanwhile. They hold nothing that anybody could miss. */
export async function abandonMachineForks(
  db: Database,
  snapshotId: string,
  reason: string,
): Promise<MachineRow[]> {
  const { rows } = await sql<MachineRow>`
    update machines set
      status = 'destroying', version = version + 1, reason = ${reason}, env = ${erasedEnv}, restart_wished = false,
      claimed_until = null, attempts = 0, retry_at = now()
    where forked_by = ${snapshotId} and started_at is null and status in ('creating', 'failed')
    returning *, ${noRestart}`.execute(db);
  return rows;
}
