// After a failed attempt to bring a sandbox or a machine to its desired state.

import { sql } from "kysely";
import { backoff } from "../db/backoff.ts";
import type { Database } from "../db/database.ts";
import { isAhead } from "../db/clock-set-back.ts";
import type { Context } from "../context.ts";
import { vmTable } from "../db/vm-table.ts";

/** Longest pause between two attempts at a stuck VM, in seconds. */
export const RETRY_MAX_S = 60;

/** Attempts at what either ends well or is given up: about three minutes. A host that is away is none of them. */
export const TRIES_MAX = 8;

/** What failed is not due for its next attempt yet. */
export const isPostponed = isAhead("retry_at", RETRY_MAX_S * 1_000);

/** What cannot be done now is tried again later and later, so that a stuck VM does not hide the others. */
export async function orPostpone(
  context: Context,
  row: { readonly id: string; readonly status: string },
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    await postpone(context.db, row);
    throw error;
  }
}

/** The next attempt comes after 2, 4, 8 … 60 s. */
export async function postpone(
  db: Database,
  { id, status }: { readonly id: string; readonly status: string },
): Promise<void> {
  await sql`
    update ${vmTable(id)} set
      attempts = attempts + 1,
      retry_at = now() + ${backoff(sql`attempts + 1`, RETRY_MAX_S)}
    where id = ${id} and status = ${status}`.execute(db);
}
