// Moves as their operator sees them: those under way, and those that ended within a day.

import { sql } from "kysely";
import type { MoveStatus } from "@skerry/contract/moves/move-status";
import type { Queries } from "../db/database.ts";
import type { MoveRow } from "./move-store.ts";

export interface MoveFilter {
  readonly status?: MoveStatus;
  readonly host?: string;
  readonly vm?: string;
}

/** Newest first. */
export async function listMoveRows(
  db: Queries,
  { status, host, vm }: MoveFilter,
  { before, limit }: { readonly before: string | undefined; readonly limit: number },
): Promise<MoveRow[]> {
  const conditions = [sql`true`];
  if (status !== undefined) conditions.push(sql`status = ${status}`);
  if (host !== undefined) conditions.push(sql`${host} in (from_host_id, to_host_id)`);
  if (vm !== undefined) conditions.push(sql`vm_id = ${vm}`);
  if (before !== undefined) conditions.push(sql`id < ${before}`);
  const { rows } = await sql<MoveRow>`
    select * from moves where ${sql.join(conditions, sql` and `)} order by id desc limit ${limit}`.execute(
    db,
  );
  return rows;
}

export async function movesOfIds(db: Queries, ids: readonly string[]): Promise<MoveRow[]> {
  const { rows } = await sql<MoveRow>`select * from moves where id = any(${ids}::text[])`.execute(db);
  return rows;
}
