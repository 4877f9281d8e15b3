// What an organization has behind it, such as sandboxes that are destroyed. Of these rows the newest are kept, for some days, up to a number and up to
// so many bytes together: a rate bounds how fast rows come and not how many there are, so the days alone are no bound.

import { sql, type RawBuilder } from "kysely";
import type { Queries } from "./database.ts";
import { ago, daysAgo } from "./steady-time.ts";

export interface Kept {
  readonly table: string;
  /** Which rows of the organization are over. The others have quotas. In it, and in what follows, the table is `kept`. */
  readonly isOver: RawBuilder<unknown>;
  readonly since: RawBuilder<unknown>;
  readonly days: number;
  /** Rows that are kept in any case, because something may still ask for them. 0: none. */
  readonly minutesMin: number;
  readonly rowsMax: number;
  /** What one row takes in its columns that a caller fills. */
  readonly bytes: RawBuilder<unknown>;
  readonly bytesMax: number;
}

/** Forgets what an organization has beyond that; how many, at most `limit`. However many rows there are, it looks at those that are kept and `limit` more. */
export async function forgetBeyond(
  db: Queries,
  { table, isOver, since, days, minutesMin, rowsMax, bytes, bytesMax }: Kept,
  { orgId, limit }: { readonly orgId: string; readonly limit: number },
): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from ${sql.table(table)} where ctid = any(array(
      select place from (
        select place, since, row_number() over newest_first as count, sum(bytes) over newest_first as bytes
        from (
          select kept.ctid as place, ${since} as since, ${bytes} as bytes
          from ${sql.table(table)} kept where org_id = ${orgId} and ${isOver}
          order by ${since} desc, kept.ctid desc limit ${rowsMax + limit}
        ) newest
        window newest_first as (order by since desc, place desc)
      ) over_now
      where since < ${daysAgo(days)}
        or since <= ${ago(sql`${minutesMin} * interval '1 minute'`)} and (count > ${rowsMax} or bytes > ${bytesMax})
      limit ${limit}
    ))`.execute(db);
  return Number(numAffectedRows ?? 0);
}
