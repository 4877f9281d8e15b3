// The audit log. Rows are added and, when they are old, deleted; the database refuses everything else.

import { sql } from "kysely";
import { firstIdAt } from "@skerry/contract/ids";
import type { Database } from "../db/database.ts";
import { daysAgo } from "../db/steady-time.ts";
import type { AuditRow } from "./insert-audit-events.ts";

/** Ids are made by the clocks of control planes and times by the database's; they never differ by more. */
const CLOCK_SLACK_MS = 10 * 60_000;

export interface AuditFilter {
  readonly orgId: string;
  readonly action?: string;
  readonly resource_id?: string;
  readonly user_id?: string;
  readonly token_id?: string;
  readonly since?: Date;
  readonly until?: Date;
  /** Only events older than this id. */
  readonly before?: string;
  readonly limit: number;
}

/** Newest first. */
export function listAuditEvents(db: Database, filter: AuditFilter): Promise<AuditRow[]> {
  let query = db
    .selectFrom("audit_events")
    .selectAll()
    .where("org_id", "=", filter.orgId)
    .orderBy("id", "desc")
    .limit(filter.limit);
  for (const column of ["action", "resource_id", "user_id", "token_id"] as const) {
    const wanted = filter[column];
    if (wanted !== undefined) query = query.where(column, "=", wanted);
  }
  if (filter.before !== undefined) query = query.where("id", "<", filter.before);
  // The time decides; the id, which says nearly the same, lets the index leave out the rest.
  if (filter.since !== undefined) {
    const first = firstIdAt("audit", filter.since.getTime() - CLOCK_SLACK_MS);
    query = query.where("at", ">=", filter.since).where("id", ">=", first);
  }
  if (filter.until !== undefined) {
    const last = firstIdAt("audit", filter.until.getTime() + CLOCK_SLACK_MS);
    query = query.where("at", "<", filter.until).where("id", "<", last);
  }
  return query.execute();
}

/** Deletes up to `limit` of the oldest events past this age, and returns how many. */
export async function forgetAuditEvents(db: Database, olderThanDays: number, limit: number): Promise<number> {
  const since = await timeAgo(db, olderThanDays);
  const last = firstIdAt("audit", since.getTime() + CLOCK_SLACK_MS);
  const { numAffectedRows } = await sql`
    delete from audit_events where id in (
      select id from audit_events
      where id < ${last} and at < ${since}
      order by id limit ${limit}
    )`.execute(db);
  return Number(numAffectedRows ?? 0);
}

/** Of an organization, beside those of the last 30 days: the database deletes none that are younger. One takes 1.1 kB with its indexes. */
export const OLD_EVENTS_MAX = 100_000;
const YOUNG_DAYS = 30;

/** Deletes up to `limit` of the oldest events of an organization, so that `kept` remain that are older than 30 days, and returns how many. */
export async function forgetOldEvents(
  db: Database,
  { orgId, kept, limit }: { readonly orgId: string; readonly kept: number; readonly limit: number },
): Promise<number> {
  const since = await timeAgo(db, YOUNG_DAYS);
  const last = firstIdAt("audit", since.getTime() - CLOCK_SLACK_MS);
  const { numAffectedRows } = await sql`
    delete from audit_events where id in (
      select id from audit_events
      where org_id = ${orgId} and at < ${since} and id <= (
        select id from audit_events where org_id = ${orgId} and id < ${last} order by id desc offset ${kept} limit 1)
      order by id limit ${limit}
    )`.execute(db);
  return Number(numAffectedRows ?? 0);
}

async function timeAgo(db: Database, days: number): Promise<Date> {
  const { rows } = await sql<{ since: Date }>`select ${daysAgo(days)} as since`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error("the database has told no time");
  return row.since;
}
