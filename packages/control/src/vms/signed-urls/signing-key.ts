// The key that signed URLs are signed with: one for all replicas, made when it is needed first, and kept in the database.

import { randomBytes } from "node:crypto";
import { sql } from "kysely";
import type { Database } from "../../db/database.ts";

const KEY_BYTES = 32;

const known = new WeakMap<Database, Buffer>();

export async function signingKey(db: Database): Promise<Buffer> {
  const key = known.get(db) ?? (await readKey(db)) ?? (await makeKey(db));
  known.set(db, key);
  return key;
}

async function readKey(db: Database): Promise<Buffer | undefined> {
  const { rows } = await sql<{ key: Buffer }>`select key from url_signing_keys`.execute(db);
  return rows[0]?.key;
}

/** Of two replicas that make one at the same time, both get that of the first. */
async function makeKey(db: Database): Promise<Buffer> {
  await sql`insert into url_signing_keys (key) values (${randomBytes(KEY_BYTES)}) on conflict do nothing`.execute(
    db,
  );
  const key = await readKey(db);
  if (key === undefined) throw new Error("the key for signed URLs was deleted while it was made");
  return key;
}
