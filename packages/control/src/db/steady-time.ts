// Time that control vouches for. PostgreSQL's clock may be set forward: `now()` then tells an hour, or a
// year, that never passed. Each replica compares it with the monotonic clock of its machine every two seconds
// (`platform/clock-watch.ts`) and notes until when `now()` is trusted. What ends or deletes something of a
// tenant compares stored times with what is here, and not with `now()`.

import { sql, type RawBuilder } from "kysely";

/** `now()`, as far as it is vouched for: after a step it stands still until the step is recorded. Before
 *  control has first looked it is `now()`. */
export const steadyNow = sql<Date>`
  least(now(), (select vouched_until from clock_eras order by number desc limit 1))`;

/** The time since which so much has passed, without what the clock was set forward by meanwhile. As a
 *  subquery, so that a statement asks once. */
export function ago(interval: RawBuilder<unknown>): RawBuilder<Date> {
  return sql<Date>`(select steady_ago(${interval}))`;
}

export function daysAgo(days: number): RawBuilder<Date> {
  return ago(sql`${days} * interval '1 day'`);
}
