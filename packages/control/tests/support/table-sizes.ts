// How many rows each table has, and what they take.

import { sql } from "kysely";
import type { Database } from "../../src/db/database.ts";

export interface Size {
  readonly rows: number;
  readonly bytes: number;
}

/**
 * With the views of `vms` in its place: sandboxes and machines have bounds of their own. `room_entries` is
 * the name that the version before has for `capacity_entries`.
 */
export async function tableNames(db: Database): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select tablename as name from pg_tables where schemaname = 'public' and tablename <> 'vms'
    union select viewname from pg_views where schemaname = 'public' and viewname <> 'room_entries' order by 1`.execute(
    db,
  );
  return rows.map(({ name }) => name);
}

/** Of rows that are there: what PostgreSQL has not cleaned up yet does not count. */
export async function tableSizes(db: Database): Promise<ReadonlyMap<string, Size>> {
  const names = await tableNames(db);
  const sizes = names.map(
    (name) => sql`
      select ${name} as name, count(*)::float8 as rows, coalesce(sum(pg_column_size(t.*)), 0)::float8 as bytes
      from ${sql.table(name)} t`,
  );
  const { rows } = await sql<Size & { name: string }>`${sql.join(sizes, sql` union all `)}`.execute(db);
  return new Map(rows.map(({ name, ...size }) => [name, size]));
}

/** By how many rows each table has grown that has grown at all. */
export function grown(
  before: ReadonlyMap<string, Size>,
  after: ReadonlyMap<string, Size>,
): ReadonlyMap<string, number> {
  const more = [...after].map(([name, { rows }]) => [name, rows - (before.get(name)?.rows ?? 0)] as const);
  return new Map(more.filter(([, rows]) => rows > 0));
}
