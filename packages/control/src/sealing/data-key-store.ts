// Rows of root keys, of which the database knows the ids alone, and of the data keys that are sealed by them.

import { sql } from "kysely";
import type { Queries } from "../db/database.ts";

export interface DataKeyRow {
  readonly owner: string;
  /** The root key that sealed it. */
  readonly root_key: string;
  readonly wrapped: Buffer;
}

/** Ids, the newest first: that one seals. */
export async function rootKeyIds(db: Queries): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`select id from root_keys order by number desc`.execute(db);
  return rows.map(({ id }) => id);
}

/** The first one of an installation; nothing happens where there is one. */
export async function addFirstRootKey(db: Queries, id: string): Promise<void> {
  await sql`
    with held as (select pg_advisory_xact_lock(${ROOT_KEYS_LOCK}))
    insert into root_keys (id) select ${id} from held where not exists (select from root_keys)
    on conflict do nothing`.execute(db);
}

/** From now on it seals. */
export async function addRootKey(db: Queries, id: string): Promise<void> {
  await sql`insert into root_keys (id) values (${id}) on conflict do nothing`.execute(db);
}

/** Any number that no other user of the database's advisory locks takes. */
const ROOT_KEYS_LOCK = 7_070_002;

/** Removes this one unless it seals or has sealed a data key; false where it stays. */
export async function removeRootKey(db: Queries, id: string): Promise<boolean> {
  const { numAffectedRows } = await sql`
    delete from root_keys where id = ${id} and number < (select max(number) from root_keys)
      and not exists (select from data_keys where root_key = ${id})`.execute(db);
  return numAffectedRows === 1n;
}

export async function findDataKey(db: Queries, owner: string): Promise<DataKeyRow | undefined> {
  const { rows } = await sql<DataKeyRow>`
    select owner, root_key, wrapped from data_keys where owner = ${owner}`.execute(db);
  return rows[0];
}

/** Two that ask at the same time get the one that is there afterwards. */
export async function addDataKey(db: Queries, { owner, root_key, wrapped }: DataKeyRow): Promise<void> {
  await sql`
    insert into data_keys (owner, root_key, wrapped) values (${owner}, ${root_key}, ${wrapped})
    on conflict do nothing`.execute(db);
}

export async function allDataKeys(db: Queries, locked?: "locked"): Promise<DataKeyRow[]> {
  const { rows } = await sql<DataKeyRow>`
    select owner, root_key, wrapped from data_keys order by owner ${locked === undefined ? sql`` : sql`for update`}`.execute(
    db,
  );
  return rows;
}

export async function replaceDataKey(db: Queries, { owner, root_key, wrapped }: DataKeyRow): Promise<void> {
  await sql`update data_keys set root_key = ${root_key}, wrapped = ${wrapped} where owner = ${owner}`.execute(
    db,
  );
}

/** What its owner has sealed can never be opened again. */
export async function destroyDataKey(db: Queries, owner: string): Promise<void> {
  await sql`delete from data_keys where owner = ${owner}`.execute(db);
}
