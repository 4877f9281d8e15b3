import { sql } from "kysely";
import type { Queries } from "../db/database.ts";

/** Hosts that answer and whose certificate ends within this time, or that have none. */
export async function hostsToCertify(
  db: Queries,
  { withinMs, limit }: { readonly withinMs: number; readonly limit: number },
): Promise<readonly { readonly id: string; readonly address: string }[]> {
  const { rows } = await sql<{ id: string; address: string }>`
    select id, address from hosts
    where removed_at is null and status in ('online', 'draining')
      and coalesce(certificate_expires_at, now()) < now() + ${withinMs}::double precision * interval '1 millisecond'
    order by certificate_expires_at nulls first
    limit ${limit}`.execute(db);
  return rows;
}

export async function recordHostCertificate(
  db: Queries,
  id: string,
  { keySha256, lifetimeMs }: { readonly keySha256: Buffer; readonly lifetimeMs: number },
): Promise<void> {
  await sql`
    update hosts set
      key_sha256 = ${keySha256},
      certificate_expires_at = now() + ${lifetimeMs}::double precision * interval '1 millisecond'
    where id = ${id}`.execute(db);
}
