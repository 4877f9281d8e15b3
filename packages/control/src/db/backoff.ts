import { sql, type RawBuilder } from "kysely";

/** How long to wait before the next attempt at a row: 2 to the power of `attempts` seconds, at most `maxS`. */
export function backoff(attempts: RawBuilder<number>, maxS: number): RawBuilder<unknown> {
  return sql`least(power(2, least(${attempts}, 10)), ${maxS}) * interval '1 second'`;
}
