// Times that the database wrote before its clock was set back. Taken at their word, they would have everything wait for as long as that was.

import { sql, type RawBuilder } from "kysely";
import { steadyNow } from "./steady-time.ts";

/** What a time may be later than now allows before it is from another clock: as long a transaction may have waited for another one. */
export const SET_BACK = sql`interval '1 minute'`;

/** Whether the time in this column is still to come. It was put `maxMs` ahead at most; one that is further off was written before the clock
 *  was set back, and nothing waits for it. */
export function isAhead(column: string, maxMs: number): RawBuilder<boolean> {
  const time = sql.ref(column);
  return sql<boolean>`
    coalesce(${time} > ${steadyNow} and ${time} <= now() + ${sql.lit(maxMs)} * interval '1 millisecond' + ${SET_BACK}, false)`;
}
