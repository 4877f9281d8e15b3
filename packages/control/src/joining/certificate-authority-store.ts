import type { Queries } from "../db/database.ts";

/** As PEM. */
export interface AuthorityRow {
  readonly certificate: string;
  readonly private_key: string;
}

export function findAuthority(db: Queries): Promise<AuthorityRow | undefined> {
  return db.selectFrom("authority").select(["certificate", "private_key"]).executeTakeFirst();
}

/** The authority afterwards: this one, or that of the replica that was first. */
export async function keepFirstAuthority(db: Queries, made: AuthorityRow): Promise<AuthorityRow> {
  await db
    .insertInto("authority")
    .values(made)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return db.selectFrom("authority").select(["certificate", "private_key"]).executeTakeFirstOrThrow();
}
