import { sql } from "kysely";
import type { Queries } from "../db/database.ts";

/** The VM goes on from this snapshot, where that is still the life that it was taken of. */
export async function noteSnapshot(
  db: Queries,
  snapshot: { readonly id: string; readonly vm_id: string; readonly execution_id: string },
): Promise<void> {
  await sql`
    update vms set snapshot_id = ${snapshot.id}
    where id = ${snapshot.vm_id} and execution_id = ${snapshot.execution_id}`.execute(db);
}
