// The queue of machines that wait for their next start. A transaction that writes both writes the machine first and then its entry here, or two would
// wait for each other.

import { sql } from "kysely";
import { BACKOFF_MAX_S } from "@skerry/contract/machines/machine-status";
import type { Database, Queries } from "../db/database.ts";
import { keptWait, type NewWait } from "../waits/stored-wait.ts";
import { isAhead } from "../db/clock-set-back.ts";

/** An entry that was taken comes back after this if the replica that took it dies. */
const TAKEN_MS = 60_000;

/** No entry waits for longer. */
const DELAY_MAX_MS = Math.max(TAKEN_MS, BACKOFF_MAX_S * 1_000);

const later = (ms: number) => sql`now() + ${ms} * interval '1 millisecond'`;

export async function queueRestart(db: Queries, machineId: string, delayMs: number): Promise<void> {
  await sql`
    insert into restarts (machine_id, due_at) values (${machineId}, ${later(delayMs)})
    on conflict (machine_id) do update set due_at = excluded.due_at, waits_for = null`.execute(db);
}

export async function cancelRestart(db: Queries, machineId: string): Promise<void> {
  await sql`delete from restarts where machine_id = ${machineId}`.execute(db);
}

/** Up to `limit` machines whose time has come, longest due first. No other replica gets them for a minute. */
export async function takeDueRestarts(db: Queries, limit: number): Promise<string[]> {
  const { rows } = await sql<{ machine_id: string }>`
    update restarts set due_at = ${later(TAKEN_MS)}
    where machine_id in (
      select machine_id from restarts where not ${isAhead("due_at", DELAY_MAX_MS)}
      order by due_at limit ${limit} for update skip locked
    )
    returning machine_id`.execute(db);
  return rows.map((row) => row.machine_id);
}

/** Where it still waits, because of `wait`. */
export async function postponeRestart(
  db: Queries,
  machineId: string,
  { delayMs, wait }: { readonly delayMs: number; readonly wait: NewWait },
): Promise<void> {
  await sql`
    update restarts set due_at = ${later(delayMs)}, waits_for = ${keptWait("waits_for", wait)}
    where machine_id = ${machineId}`.execute(db);
}

/** How long until the first one is due, in milliseconds; undefined where none waits. */
export async function nextRestartInMs(db: Database): Promise<number | undefined> {
  const { rows } = await sql<{ ms: number }>`
    select greatest(0, ceil(extract(epoch from due_at - now()) * 1000))::double precision as ms
    from restarts order by due_at limit 1`.execute(db);
  return rows[0]?.ms;
}
