// After a failed attempt to bring a sandbox or a machine to its desired state.

import { sql } from "kysely";
import { backoff } from "../db/backoff.ts";
import type { Database } from "../db/database.ts";
import { isAhead } from "../db/set-back.ts";
import { vmTable } from "../db/vm-table.ts";

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
    update ${vmTable(id)} set
      attempts = attempts + 1,
      retry_at = now() + ${backoff(sql`attempts + 1`, RETRY_MAX_S)}
    where id = ${id} and status = ${status}`.execute(db);
}
