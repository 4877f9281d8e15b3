// The `reason` of a row that is on its way to another status, while its host fails at what is asked of it:
// the host's words follow what the reason was before, and go when the row gets on.

import { sql, type RawBuilder } from "kysely";
import { SkerryError } from "@skerry/contract/errors";

const MARK = "its host fails: ";
const SAID_MAX_CHARS = 300;

/** Text of the error, for the owner of the row. */
export function saidBy(error: unknown): string {
  const said = error instanceof SkerryError ? error.message : "internal error";
  // A host may quote what a guest says, and the database refuses what is no text.
  return said.slice(0, SAID_MAX_CHARS).toWellFormed().replaceAll("\0", "\uFFFD");
}

/** The reason as it was before the host failed. */
export const withoutFailure = sql<string | null>`
  nullif(regexp_replace(reason, ${`(^|; )${MARK}.*$`}::text, ''), '')`;

export function withFailure(said: string): RawBuilder<string> {
  return sql`concat_ws('; ', ${withoutFailure}, ${MARK + said}::text)`;
}
