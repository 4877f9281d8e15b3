import { sql } from "kysely";
import type { Database } from "../db/database.ts";

/** The service should run now, or again once it has run. A service that never ran is due anyway. */
export async function makeLeaseDue(db: Database, name: string): Promise<void> {
  await sql`update leases set rung = true, due_at = now() where name = ${name}`.execute(db);
}
