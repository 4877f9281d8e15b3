// Sandboxes that have ended: how many an organization keeps to look at.

import { sql } from "kysely";
import type { Kept } from "../db/keep-newest.ts";
import type { Queries } from "../db/database.ts";
import { steadyNow } from "../db/steady-time.ts";

/** A host that was silent may still have one, and it is destroyed there by its row. */
export const endedSandboxes: Kept = {
  table: "vms",
  isOver: sql`kind = 'sandbox' and status = 'destroyed' and not host_lost`,
  since: sql`destroyed_at`,
  days: 30,
  minutesMin: 10,
  rowsMax: 10_000,
  bytes: sql`pg_column_size(metadata) + pg_column_size(egress) + pg_column_size(env)`,
  bytesMax: 64 * 1024 * 1024,
};

/** Of an organization. They count in no quota. */
export const FAILED_MAX = 100;

/** Of those that have failed, and would be shown until their time is over, so many stay; the time of the others is over now. How many; at most `limit`. */
export async function expireFailed(db: Queries, orgId: string, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`
    update sandboxes set expires_at = ${steadyNow} where id in (
      select id from (
        select id, expires_at from sandboxes where org_id = ${orgId} and status = 'failed' order by id desc offset ${FAILED_MAX}
      ) older where expires_at > ${steadyNow} limit ${limit}
    )`.execute(db);
  return Number(numAffectedRows ?? 0);
}
