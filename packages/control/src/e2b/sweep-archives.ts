// Forgets archives that no build of E2B's clients has come for. By itself, so that the service that does it loads nothing of what answers them.

import { sql } from "kysely";
import type { Queries } from "../db/database.ts";
import { ago } from "../db/steady-time.ts";

/** What is not asked for by then is forgotten. */
const KEPT_SINCE = ago(sql`interval '1 hour'`);

/** Forgets archives that no build has asked for within an hour, and what has come of those that never came whole. How many rows; at most `limit` of each. */
export async function sweepArchives(db: Queries, limit: number): Promise<number> {
  const archives = await sql`
    delete from e2b_archives where (org_id, hash) in (
      select org_id, hash from e2b_archives where created_at < ${KEPT_SINCE} limit ${limit})`.execute(db);
  const chunks = await sql`
    delete from e2b_archive_chunks where (upload, index) in (
      select upload, index from e2b_archive_chunks c where created_at < ${KEPT_SINCE}
        and not exists (select from e2b_archives a where a.upload = c.upload) limit ${limit})`.execute(db);
  return Math.max(Number(archives.numAffectedRows ?? 0), Number(chunks.numAffectedRows ?? 0));
}
