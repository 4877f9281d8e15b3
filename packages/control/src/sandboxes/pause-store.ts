// Rows of sandboxes on their way into a pause, or out of it.

import { sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import { backoff } from "../db/backoff.ts";
import { claimedAnew } from "../db/claims.ts";
import type { NextEvent } from "../db/tables/event-tables.ts";
import { daysAgo, steadyNow } from "../db/steady-time.ts";
import { isPostponed, RETRY_MAX_S } from "../vms/postpone.ts";
import { erasedEnv } from "../vms/env.ts";
import { staysHere, type SandboxRow } from "./sandbox-store.ts";

/** Its host has refused to pause it, so it runs on. The reaper tries again after 2, 4, 8 … 60 s where its time is over. */
export async function goOnUnpaused(
  db: Database,
  { id, version }: Pick<SandboxRow, "id" | "version">,
  reason: string,
): Promise<void> {
  await sql`
    update sandboxes set
      status = 'running', version = version + 1, claimed_until = null, reason = ${reason},
      attempts = attempts + 1, retry_at = now() + ${backoff(sql`attempts + 1`, RETRY_MAX_S)}
    where id = ${id} and version = ${version} and status = 'pausing'`.execute(db);
}

/** Its host has seen that it is in use, so it runs on. */
export async function goOnInUse(
  db: Database,
  { id, version }: Pick<SandboxRow, "id" | "version">,
): Promise<void> {
  await sql`
    update sandboxes set status = 'running', version = version + 1, claimed_until = null
    where id = ${id} and version = ${version} and status = 'pausing'`.execute(db);
}

/** A sandbox that runs and is paused when nothing uses it, and where to ask for that. */
export interface PausedWhenIdle extends Pick<
  SandboxRow,
  "id" | "version" | "status" | "execution_id" | "host_id"
> {
  readonly org_id: string;
  readonly address: string;
  readonly pause_after_idle_ms: number;
}

/** Bound of one look. */
const IDLERS_MAX = 20_000;

export async function pausedWhenIdle(db: Database): Promise<PausedWhenIdle[]> {
  const { rows } = await sql<PausedWhenIdle>`
    select sandboxes.id, org_id, sandboxes.version, sandboxes.status, execution_id, host_id, pause_after_idle_ms, hosts.address
    from sandboxes join hosts on hosts.id = sandboxes.host_id
    where sandboxes.status = 'running' and pause_after_idle_ms is not null and not ${isPostponed} and ${staysHere}
      and hosts.status <> 'offline' and hosts.removed_at is null
    limit ${IDLERS_MAX}`.execute(db);
  return rows;
}

/** Moves up to `limit` persistent sandboxes past their expiry to `pausing`, under a claim, and returns them. One that could not be paused before is paused
 *  with its memory: otherwise a guest that never writes its disk out would run for ever. */
export async function pauseExpired(db: Queries, limit: number): Promise<SandboxRow[]> {
  const { rows } = await sql<SandboxRow>`
    update sandboxes set status = 'pausing', version = version + 1, claimed_until = ${claimedAnew}, reason = null, 
      reboots = not keeps_memory and attempts = 0,
      next_event = ${JSON.stringify({ kind: "paused", reason: "its timeout was over" } satisfies NextEvent)}
    where id = any(array(
      select id from sandboxes
      where expires_at < ${steadyNow} and status = 'running' and mode = 'persistent' and not ${isPostponed} and ${staysHere}
      order by expires_at limit ${limit} for update skip locked
    ))
    returning *`.execute(db);
  return rows;
}

/** Moves up to `limit` sandboxes that have been paused for so long to `destroying`, and returns them. */
export async function destroyLongPaused(db: Queries, days: number, limit: number): Promise<SandboxRow[]> {
  const { rows } = await sql<SandboxRow>`
    update sandboxes set
      status = 'destroying', env = ${erasedEnv}, version = version + 1, attempts = 0, retry_at = now(),
      reason = ${`it was paused for ${days} days, and none is kept for longer`}
    where id = any(array(
      select id from sandboxes
      where status = 'paused' and paused_at < ${daysAgo(days)}
      order by paused_at limit ${limit} for update skip locked
    ))
    returning *`.execute(db);
  return rows;
}
