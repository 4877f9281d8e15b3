// Attempts at what the row of a sandbox or of a machine wishes for, that have failed.

import { sql } from "kysely";
import type { Database } from "../db/database.ts";
import { isAhead } from "../db/set-back.ts";
import { tableOf } from "../db/vm-tables.ts";

/** Longest pause between two attempts at a stuck VM, in seconds. */
const RETRY_MAX_S = 60;

/** What failed is not due for its next attempt yet. */
export const isPostponed = isAhead("retry_at", RETRY_MAX_S * 1_000);

/** The next attempt comes after 2, 4, 8 … 60 s. */
export async function postpone(
  db: Database,
  { id, status }: { readonly id: string; readonly status: string },
): Promise<void> {
  await sql`
    update ${tableOf(id)} set
      attempts = attempts + 1,
      retry_at = now() + least(power(2, least(attempts + 1, 10)), ${RETRY_MAX_S}) * interval '1 second'
    where id = ${id} and status = ${status}`.execute(db);
}
