import { sql } from "kysely";
import type { Queries } from "../db/database.ts";

/** Until the transaction ends it is neither carried away nor deleted. False where it is not ready on this host. */
export async function holdSnapshotOn(transaction: Queries, id: string, hostId: string): Promise<boolean> {
  const { rows } = await sql`
    select 1 from snapshots where id = ${id} and host_id = ${hostId} and status = 'ready' for share`.execute(
    transaction,
  );
  return rows.length > 0;
}
