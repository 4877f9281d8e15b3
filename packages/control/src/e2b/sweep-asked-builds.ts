// Forgets builds that E2B's clients have asked for. By itself, so that the service that does it loads nothing of what answers them.

import { sql } from "kysely";
import { buildStatusesUnderWay } from "@skerry/contract/builds/build-status";
import type { Queries } from "../db/database.ts";
import { forgetBeyond, type Kept } from "../db/keep-newest.ts";
import { ago } from "../db/steady-time.ts";

/** Without those that the organization's templates and its builds under way stand on. As many as there are native builds that have ended. */
export const keptAskedBuilds: Kept = {
  table: "e2b_builds",
  isOver: sql`not exists (select from templates t where t.build_id = kept.id and t.status = 'ready')
    and not exists (select from builds b where b.id = kept.id and b.status in (${sql.join(buildStatusesUnderWay)}))`,
  since: sql`created_at`,
  days: 30,
  minutesMin: 0,
  rowsMax: 2_000,
  bytes: sql`coalesce(pg_column_size(body), 0)`,
  // Of steps: one request has up to 128 KiB of them.
  bytesMax: 64 * 1024 * 1024,
};

/** What its organization has beyond that, and those whose steps have not come within an hour. How many; at most `limit` of each. */
export async function sweepAskedBuilds(db: Queries, orgId: string, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from e2b_builds where id in (
      select id from e2b_builds
      where org_id = ${orgId} and body is null and fault is null and created_at < ${ago(sql`interval '1 hour'`)}
      limit ${limit}
    )`.execute(db);
  return Math.max(Number(numAffectedRows ?? 0), await forgetBeyond(db, keptAskedBuilds, { orgId, limit }));
}
