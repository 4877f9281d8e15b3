import { sql } from "kysely";
import type { Database } from "../db/database.ts";

/** Has the snapshot bear this name in the place of the one that has it now, which is found by its id from then on. */
export async function takeSnapshotName(
  db: Database,
  { orgId, id, name }: { readonly orgId: string; readonly id: string; readonly name: string },
): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await sql`
      update snapshots set name = null, version = version + 1
      where org_id = ${orgId} and name = ${name} and id <> ${id} and status <> 'deleted'`.execute(
      transaction,
    );
    await sql`
      update snapshots set name = ${name}, version = version + 1
      where org_id = ${orgId} and id = ${id} and status <> 'deleted'`.execute(transaction);
  });
}
