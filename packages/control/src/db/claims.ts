// Claims on rows: somebody is at work on what the row is about, and extends the claim for as long as that takes.

import { sql } from "kysely";

/** So far at a time. A claim that has lapsed means that whoever had it is dead. */
export const CLAIM_MS = 15_000;

export const claimedAnew = sql<Date>`now() + ${CLAIM_MS} * interval '1 millisecond'`;
