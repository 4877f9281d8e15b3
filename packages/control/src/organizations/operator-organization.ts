import type { Queries } from "../db/database.ts";

/** Undefined before the first token was made. */
export async function operatorOrganization(db: Queries): Promise<string | undefined> {
  const row = await db
    .selectFrom("organizations")
    .select("id")
    .where("operator", "=", true)
    .executeTakeFirst();
  return row?.id;
}
