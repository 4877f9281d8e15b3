// Sandboxes whose time is over.

import { sql } from "kysely";
import { isClaimed } from "../db/claims.ts";
import type { Queries } from "../db/database.ts";
import { steadyNow } from "../db/steady-time.ts";
import { erasedEnv } from "../vms/env.ts";
import { isExpired } from "./sandbox-facts.ts";
import { EXPIRED_REASON, type SandboxRow } from "./sandbox-store.ts";

/**
 * Moves up to `limit` sandboxes past their expiry to `destroying`, in one statement, and returns them. A
 * sandbox that a request is still creating is left alone: its time begins when it runs. An array is read once;
 * PostgreSQL may read a list behind `in` again for each row, with `limit` others each time.
 */
export async function expireSandboxes(db: Queries, limit: number): Promise<SandboxRow[]> {
  const { rows } = await sql<SandboxRow>`
    update sandboxes set
      status = 'destroying', env = ${erasedEnv}, version = version + 1, claimed_until = null, attempts = 0, retry_at = now(),
      reason = coalesce(reason, ${EXPIRED_REASON})
    where id = any(array(
      select id from sandboxes
      where ${isExpired} and not ${isClaimed()}
      order by expires_at limit ${limit} for update skip locked
    ))
    returning *`.execute(db);
  return rows;
}

/**
 * Until the next sandbox that runs is past its expiry, in milliseconds; undefined where that is not before so
 * much time has passed.
 */
export async function nextExpiryInMs(db: Queries, withinMs: number): Promise<number | undefined> {
  const { rows } = await sql<{ ms: number }>`
    select ceil(extract(epoch from expires_at - now()) * 1000)::double precision as ms from sandboxes
    where expires_at > ${steadyNow} and expires_at < now() + ${withinMs} * interval '1 millisecond' and status = 'running'
    order by expires_at limit 1`.execute(db);
  return rows[0]?.ms;
}
