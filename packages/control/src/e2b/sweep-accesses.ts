// By itself, so that the service that does it loads nothing of what answers E2B's clients.

import { sql } from "kysely";
import type { Queries } from "../db/database.ts";
import { daysAgo } from "../db/steady-time.ts";

/** Forgets who could sign URLs of files: of sandboxes that have ended, and by tokens that have. How many; at most `limit`. */
export async function sweepAccesses(db: Queries, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from e2b_accesses where (sandbox_id, secret_sha256) in (
      select a.sandbox_id, a.secret_sha256 from e2b_accesses a
      join sandboxes s on s.id = a.sandbox_id
      left join api_tokens t on t.secret_sha256 = decode(a.secret_sha256, 'hex')
      where s.status in ('destroyed', 'failed') or t.id is null or t.revoked_at is not null or t.expires_at < ${daysAgo(1)}
      limit ${limit})`.execute(db);
  return Number(numAffectedRows ?? 0);
}
