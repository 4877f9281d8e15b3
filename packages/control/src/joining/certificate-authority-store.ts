import type { Queries } from "../db/database.ts";

/** As PEM. */
export interface CertificateAuthorityRow {
  readonly certificate: string;
  readonly private_key: string;
}

export function findCertificateAuthority(db: Queries): Promise<CertificateAuthorityRow | undefined> {
  return db.selectFrom("authority").select(["certificate", "private_key"]).executeTakeFirst();
}

/** The authority afterwards: this one, or that of the replica that was first. */
export async function keepFirstCertificateAuthority(
  db: Queries,
  made: CertificateAuthorityRow,
): Promise<CertificateAuthorityRow> {
  await db
    .insertInto("authority")
    .values(made)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return db.selectFrom("authority").select(["certificate", "private_key"]).executeTakeFirstOrThrow();
}
