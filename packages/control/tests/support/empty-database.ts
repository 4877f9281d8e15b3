// Databases without any table, on the server that control's tests share.

import { randomBytes } from "node:crypto";
import { sql } from "kysely";
import { inject } from "vitest";
import { openForMigration, type Database } from "../../src/db/database.ts";
import { applyMigrations, knownMigrations, migrate } from "../../src/db/migrations.ts";

export const urlOf = (name: string): string =>
  `postgresql:///${name}?host=${inject("controlPostgres")}&user=skerry`;

/** Name of a new one. */
export async function emptyDatabase(): Promise<string> {
  const name = `restored_${randomBytes(6).toString("hex")}`;
  await within("postgres", (db) => sql`create database ${sql.id(name)} template template0`.execute(db));
  return name;
}

export async function within<T>(name: string, work: (db: Database) => Promise<T>): Promise<T> {
  const db = openForMigration(urlOf(name));
  try {
    return await work(db);
  } finally {
    await db.destroy();
  }
}

export const upTo = (last: number): readonly number[] => knownMigrations.filter((number) => number <= last);

/** Writes rows into a database of an earlier schema, migrates it, and looks at the rows afterwards. */
export async function migrated<T>(
  last: number,
  write: (db: Database) => Promise<unknown>,
  look: (db: Database) => Promise<T>,
): Promise<T> {
  return within(await emptyDatabase(), async (db) => {
    await db.transaction().execute((all) => applyMigrations(all, (number) => number <= last));
    await write(db);
    await migrate(db);
    return look(db);
  });
}
