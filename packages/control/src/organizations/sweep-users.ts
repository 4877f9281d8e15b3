// Forgets users that are members of nothing any more, once their tokens are forgotten: nothing can be done in their name.

import { sql } from "kysely";
import type { Queries } from "../db/database.ts";

/** How many; at most `limit`. A request that adds one to an organization holds its row meanwhile. */
export async function sweepUsers(db: Queries, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from users where id in (
      select id from users u
      where not exists (select from memberships where user_id = u.id)
        and not exists (select from api_tokens where user_id = u.id)
        and not exists (select from join_tokens where created_by = u.id)
      limit ${limit} for update skip locked
    )`.execute(db);
  return Number(numAffectedRows ?? 0);
}
