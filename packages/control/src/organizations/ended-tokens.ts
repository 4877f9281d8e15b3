// Tokens that are revoked or have expired: no list shows them, and the audit log has their ids.

import { sql } from "kysely";
import type { Kept } from "../db/keep-newest.ts";

export const endedTokens: Kept = {
  table: "api_tokens",
  // By one index for each half.
  isOver: sql`(revoked_at is not null or revoked_at is null and expires_at < now())`,
  since: sql`least(revoked_at, expires_at)`,
  days: 30,
  minutesMin: 10,
  rowsMax: 2_000,
  bytes: sql`pg_column_size(name) + pg_column_size(scopes)`,
  bytesMax: 16 * 1024 * 1024,
};
