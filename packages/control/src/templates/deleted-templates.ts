// Versions of templates that were deleted. VMs that were made of one are over too, and show its name for as long as it is kept.

import { sql } from "kysely";
import type { Kept } from "../db/keep-newest.ts";

export const deletedTemplates: Kept = {
  table: "templates",
  isOver: sql`status = 'deleted'
    and not exists (select from template_hosts where template_id = kept.id)
    and not exists (select from template_copies where template_id = kept.id)`,
  since: sql`deleted_at`,
  days: 30,
  minutesMin: 10,
  rowsMax: 2_000,
  bytes: sql`coalesce(pg_column_size(source), 0)`,
  bytesMax: 16 * 1024 * 1024,
};
