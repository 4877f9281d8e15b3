import { sql } from "kysely";
import type { Queries } from "../../db/database.ts";

/** In the transaction that changes the row. */
export async function tellUpdated(
  db: Queries,
  { id, org_id }: { readonly id: string; readonly org_id: string },
  what: string,
): Promise<void> {
  await sql`select tell_vm_event(${org_id}, ${id}, 'updated', ${what}, clock_timestamp(), 1)`.execute(db);
}
