// Answers that are kept for a request that comes again: for a day, and of an organization no more than so many, the oldest of which go first.

import { sql } from "kysely";
import type { Kept } from "../db/keep-newest.ts";

export const keptAnswers: Kept = {
  table: "idempotency_keys",
  isOver: sql`true`,
  since: sql`created_at`,
  days: 1,
  // A client that tries again does so within minutes.
  minutesMin: 10,
  rowsMax: 50_000,
  bytes: sql`coalesce(pg_column_size(answer), 0)`,
  bytesMax: 64 * 1024 * 1024,
};
