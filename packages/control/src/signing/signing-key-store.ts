// Rows of signing keys: their ids, and the keys as they are sealed.

import { sql } from "kysely";
import { SET_BACK } from "../db/clock-set-back.ts";
import type { Queries } from "../db/database.ts";

export interface SigningKeyRow {
  readonly id: string;
  readonly sealed_key: Buffer;
  readonly created_at: Date;
  /** For so long that every replica accepts it. */
  readonly known: boolean;
}

export type NewSigningKey = Pick<SigningKeyRow, "id" | "sealed_key">;

/** Longer than a replica goes without a look at the keys (`BELIEVED_MS`), and than its last look takes. */
export const KNOWN_EVERYWHERE_S = 30;

/** Any number that no other user of the database's advisory locks takes. */
const SIGNING_KEYS_LOCK = 7_070_003;

/** The newest one first. */
export async function findSigningKeys(db: Queries): Promise<SigningKeyRow[]> {
  const { rows } = await sql<SigningKeyRow>`
    select id, sealed_key, created_at,
      created_at < now() - ${sql.lit(KNOWN_EVERYWHERE_S)} * interval '1 second' or created_at > now() + ${SET_BACK} as known
    from signing_keys order by number desc`.execute(db);
  return rows;
}

/** Two replicas that make the first one at the same time both get the one that is there afterwards. */
export async function addFirstSigningKey(db: Queries, { id, sealed_key }: NewSigningKey): Promise<void> {
  await sql`
    with held as (select pg_advisory_xact_lock(${SIGNING_KEYS_LOCK}))
    insert into signing_keys (id, sealed_key) select ${id}, ${sealed_key}::bytea from held
    where not exists (select from signing_keys)
    on conflict do nothing`.execute(db);
}

/** The caller's transaction alone changes keys until it ends. */
export async function lockSigningKeys(transaction: Queries): Promise<void> {
  await sql`select pg_advisory_xact_lock(${SIGNING_KEYS_LOCK})`.execute(transaction);
}

export async function addSigningKey(db: Queries, { id, sealed_key }: NewSigningKey): Promise<void> {
  await sql`insert into signing_keys (id, sealed_key) values (${id}, ${sealed_key})`.execute(db);
}

/** Removes all but the newest ones. Returns the ids of those that were removed. */
export async function removeOldSigningKeys(db: Queries, kept: number): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    delete from signing_keys where id not in (select id from signing_keys order by number desc limit ${kept})
    returning id`.execute(db);
  return rows.map(({ id }) => id);
}
