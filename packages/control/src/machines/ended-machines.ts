// Machines that were destroyed: how many an organization keeps to look at, each with the log of its life and of its ends.

import { sql } from "kysely";
import type { Kept } from "../db/keep-newest.ts";

/** A host that was silent may still have one, and it is destroyed there by its row. */
export const endedMachines: Kept = {
  table: "vms",
  isOver: sql`kind = 'machine' and status = 'destroyed' and not host_lost`,
  since: sql`destroyed_at`,
  days: 30,
  minutesMin: 10,
  rowsMax: 2_000,
  bytes: sql`pg_column_size(metadata) + pg_column_size(egress) + pg_column_size(env) + coalesce(pg_column_size(command), 0)`,
  bytesMax: 64 * 1024 * 1024,
};
