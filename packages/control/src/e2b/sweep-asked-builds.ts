// Forgets builds that E2B's clients have asked for. By itself, so that the service that does it loads nothing of what answers them.

import { sql } from "kysely";
import { buildStatusesUnderWay } from "@skerry/contract/builds/build-status";
import type { Queries } from "../db/database.ts";

/** Its steps have to come by then. */
const OPEN_KEPT = sql`interval '1 hour'`;
const KEPT = sql`interval '30 days'`;
/** Of an organization, beside those that its templates and its builds under way stand on: as many as it has native builds that have ended. */
export const ASKED_KEPT_MAX = 2_000;
/** Of their steps together: one request has up to 256 KiB of them. */
export const STEPS_KEPT_MAX_BYTES = 64 * 1024 * 1024;

/** Of all organizations, or of one. Returns how many; at most `limit`. */
export async function sweepAskedBuilds(db: Queries, limit: number, orgId?: string): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from e2b_builds where id in (
      select id from (
        select id, created_at, body is null and fault is null as is_open,
          row_number() over newest_first as place, sum(pg_column_size(body)) over newest_first as bytes
        from e2b_builds asked
        where (${orgId ?? null}::text is null or org_id = ${orgId ?? null})
          and not exists (select from templates t where t.build_id = asked.id and t.status = 'ready')
          and not exists (
            select from builds b where b.id = asked.id and b.status in (${sql.join(buildStatusesUnderWay)}))
        window newest_first as (partition by org_id order by created_at desc, id desc)
      ) known
      where created_at < now() - case when is_open then ${OPEN_KEPT} else ${KEPT} end
        or place > ${ASKED_KEPT_MAX} or bytes > ${STEPS_KEPT_MAX_BYTES}
      limit ${limit}
    )`.execute(db);
  return Number(numAffectedRows ?? 0);
}
