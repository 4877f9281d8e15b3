import type { Queries } from "../db/database.ts";

/** Ids, also of those that were deleted: what they had is forgotten in its time. */
export async function everyOrganization(db: Queries): Promise<string[]> {
  const rows = await db.selectFrom("organizations").select("id").execute();
  return rows.map(({ id }) => id);
}
