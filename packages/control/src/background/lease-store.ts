// Rows of leases. Ages and dues are measured by the database's clock alone.

import { sql } from "kysely";
import type { Database } from "../db/database.ts";
import type { LeaseRun } from "../db/tables/background-tables.ts";
import { SET_BACK } from "../db/clock-set-back.ts";

/** What the holder of a lease shows to keep it. */
export interface HeldLease {
  readonly name: string;
  readonly token: string;
}

/** The token, where the service is due and no replica runs it; otherwise how long until that may be so. Where the clock was set back, the service
 *  is due, instead of waiting until it has gone that far again. */
export async function takeLease(
  db: Database,
  { name, holder, ms }: { readonly name: string; readonly holder: string; readonly ms: number },
): Promise<{ readonly token: string } | { readonly waitMs: number }> {
  const { rows } = await sql<{ token: string | null; wait_ms: number | null }>`
    with taken as (
      insert into leases (name, holder, token, expires_at, due_at)
      values (${name}, ${holder}, 1, now() + ${ms} * interval '1 millisecond', now())
      on conflict (name) do update set
        holder = excluded.holder, token = leases.token + 1, expires_at = excluded.expires_at, rung = false
      where (leases.expires_at <= now() or leases.expires_at - ${ms} * interval '1 millisecond' > now() + ${SET_BACK})
        and (leases.due_at <= now() or leases.last_run_at > now() + ${SET_BACK})
      returning token
    )
    select (select token from taken) as token, (
      select ceil(extract(epoch from greatest(expires_at, due_at) - now()) * 1000)::float8
      from leases where name = ${name}
    ) as wait_ms`.execute(db);
  const token = rows[0]?.token ?? null;
  return token === null ? { waitMs: Math.max(1, rows[0]?.wait_ms ?? ms) } : { token };
}

/** False where another replica has it by now. */
export async function renewLease(db: Database, { name, token }: HeldLease, ms: number): Promise<boolean> {
  const { rows } = await sql`
    update leases set expires_at = now() + ${ms} * interval '1 millisecond'
    where name = ${name} and token = ${token} returning 1`.execute(db);
  return rows.length > 0;
}

/** Gives the lease up and says how it went. Returns when the service is due again: at once where it was woken meanwhile. */
export async function finishLease(
  db: Database,
  { name, token }: HeldLease,
  { run, nextMs }: { readonly run: LeaseRun; readonly nextMs: number },
): Promise<number> {
  const { rows } = await sql<{ wait_ms: number }>`
    update leases set
      expires_at = now(),
      due_at = case when rung then now() else now() + ${nextMs} * interval '1 millisecond' end,
      rung = false,
      last_run_at = now(),
      last_run = ${JSON.stringify(run)}
    where name = ${name} and token = ${token}
    returning ceil(extract(epoch from due_at - now()) * 1000)::float8 as wait_ms`.execute(db);
  return rows[0]?.wait_ms ?? nextMs;
}
