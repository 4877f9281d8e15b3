// Snapshots that were deleted, or could not be taken: they count in no quota.

import { sql } from "kysely";
import type { Kept } from "../db/keep-newest.ts";

export const endedSnapshots: Kept = {
  table: "snapshots",
  isOver: sql`status in ('failed', 'deleted')`,
  since: sql`coalesce(deleted_at, created_at)`,
  days: 30,
  // What comes to its host after its end is found by its row for an hour.
  minutesMin: 60,
  rowsMax: 2_000,
  bytes: sql`coalesce(pg_column_size(runs_on), 0) + coalesce(pg_column_size(command), 0)`,
  bytesMax: 16 * 1024 * 1024,
};
