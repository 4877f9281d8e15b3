// Rows of how machines have ended.

import { sql, type Selectable } from "kysely";
import { RESTARTS_KEPT } from "@skerry/contract/machines/machine-end";
import type { Queries, Tables } from "../db/database.ts";
import { daysAgo } from "../db/steady-time.ts";
import type { ExitReason } from "./exit-reason.ts";

export type MachineEndRow = Selectable<Tables["machine_ends"]>;

/** In the transaction that ends it. Forgets the oldest of those that are too many: a guest chooses how often it ends. */
export async function insertMachineEnd(
  db: Queries,
  machineId: string,
  { cause, exitCode, signal, outOfMemory = false, reason }: ExitReason,
): Promise<void> {
  await sql`
    insert into machine_ends (id, machine_id, cause, exit_code, signal, out_of_memory, reason)
    values (new_event_id(clock_timestamp()), ${machineId}, ${cause}, ${exitCode}, ${signal ?? null}, ${outOfMemory}, ${reason})`.execute(
    db,
  );
  await sql`
    delete from machine_ends where machine_id = ${machineId} and id <= (
      select id from machine_ends where machine_id = ${machineId} order by id desc offset ${RESTARTS_KEPT} limit 1
    )`.execute(db);
}

/** Newest first. */
export async function listMachineEnds(
  db: Queries,
  {
    machineId,
    before,
    limit,
  }: { readonly machineId: string; readonly before: string | undefined; readonly limit: number },
): Promise<MachineEndRow[]> {
  const { rows } = await sql<MachineEndRow>`
    select * from machine_ends
    where machine_id = ${machineId} and (${before ?? null}::text is null or id < ${before ?? null})
    order by id desc limit ${limit}`.execute(db);
  return rows;
}

/** Deletes up to `limit` of them past this age, and returns how many. */
export async function forgetMachineEnds(db: Queries, olderThanDays: number, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from machine_ends where id in (
      select id from machine_ends where ended_at < ${daysAgo(olderThanDays)} order by ended_at limit ${limit}
    )`.execute(db);
  return Number(numAffectedRows ?? 0);
}
