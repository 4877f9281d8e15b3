// Statements that each connection has parsed and planned once and not each time, which often takes longer than to carry them out.

import { createHash } from "node:crypto";
import { sql } from "kysely";

const MARK = "/* prepared */";

/** The end of such a statement. It must name the columns of its answer one by one: once a newer version has added one to the table, PostgreSQL
 *  refuses the plan of a `select *`. And there must be few texts of it, because none is ever forgotten. */
export const prepared = sql.raw(MARK);

const names = new Map<string, string>();

/** What the connection knows it by; undefined where it is not prepared. */
export function preparedName(text: string): string | undefined {
  if (!text.endsWith(MARK)) return undefined;
  let name = names.get(text);
  if (name === undefined) names.set(text, (name = createHash("sha256").update(text).digest("base64url")));
  return name;
}
