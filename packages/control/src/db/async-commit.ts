// Commits without a wait for the disk. A commit usually waits until the disk has it, some milliseconds. A statement that reads from
// `asyncCommit` does not: when PostgreSQL itself is killed, it may be undone with all others of the last second. That is right for what
// can be done without or found out again, and never in a transaction with something else, which would not be waited for either.

import { sql } from "kysely";

/** One row, for the `from` of a statement. The setting holds until the statement's own transaction ends. */
export const asyncCommit = sql`(select set_config('synchronous_commit', 'off', true)) as asyncCommit`;
