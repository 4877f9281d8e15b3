// The organization that the operator means on the command line, where no token limits which ones there are.

import { sql } from "kysely";
import { SkerryError } from "@skerry/contract/errors";
import { idKinds } from "@skerry/contract/ids";
import type { Queries } from "../db/database.ts";

const SHOWN_MAX = 10;

/** The id of the one that has this name, or whose id begins like this, with or without `org_`. Throws where there is none, or several. */
export async function organizationMeant(db: Queries, text: string): Promise<string> {
  const prefix = `${idKinds.organization}_`;
  const beginning = text.startsWith(prefix) ? text : prefix + text;
  const { rows } = await sql<{ id: string }>`
    select id from organizations
    where deleted_at is null and (name = ${text} or (${beginning} <> ${prefix} and starts_with(id, ${beginning})))
    order by id limit ${SHOWN_MAX}`.execute(db);
  const [first, ...others] = rows.map(({ id }) => id);
  if (first === undefined)
    throw new SkerryError("organization_not_found", `There is no organization "${text}".`);
  if (others.length === 0) return first;
  throw new SkerryError(
    "bad_request",
    `"${text}" can mean several organizations. Give the id of one: ${[first, ...others].join(", ")}`,
  );
}
