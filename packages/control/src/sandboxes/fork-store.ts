import { sql } from "kysely";
import type { Queries } from "../db/database.ts";
import type { SandboxRow } from "./sandbox-store.ts";

/** All that were made of this internal snapshot. */
export async function findForks(db: Queries, orgId: string, snapshotId: string): Promise<SandboxRow[]> {
  const { rows } = await sql<SandboxRow>`
    select * from sandboxes where forked_by = ${snapshotId} and org_id = ${orgId} order by id`.execute(db);
  return rows;
}
