// Versions of apps that are gone: those who follow an organization's changes are told of the end.

import { sql } from "kysely";
import type { Kept } from "../db/keep-newest.ts";

export const goneApps: Kept = {
  table: "app_changes",
  isOver: sql`gone_at is not null`,
  since: sql`gone_at`,
  // Longer than a cursor is good for.
  days: 2,
  minutesMin: 10,
  rowsMax: 1_000,
  bytes: sql`0`,
  bytesMax: 1,
};
