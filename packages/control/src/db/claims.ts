// Claims on rows: a replica works on the row's VM, and extends the claim for as long as that takes.

import { sql } from "kysely";
import { isAhead } from "./clock-set-back.ts";

/** So far at a time. A claim that has lapsed means that the replica that had it is dead. */
export const CLAIM_MS = 15_000;

export const claimedAnew = sql<Date>`now() + ${CLAIM_MS} * interval '1 millisecond'`;

/** Of the row, or of the one in this table. */
export const isClaimed = (table?: string) =>
  isAhead(table === undefined ? "claimed_until" : `${table}.claimed_until`, CLAIM_MS);
