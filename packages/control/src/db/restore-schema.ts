// The tables that a backup's rows are put into. Our own migrations make them, so nothing of a dump has a part in what they are.

import { sql, type Transaction } from "kysely";
import type { Tables } from "./database.ts";

export interface Schema {
  /** By name of a table of the schema `public`: the columns that rows can be given for. */
  readonly tables: ReadonlyMap<string, ReadonlySet<string>>;
  readonly sequences: ReadonlySet<string>;
  /** Of all that the migrations have made: tables, indexes, functions, triggers, constraints, types. */
  readonly names: ReadonlySet<string>;
}

export async function readSchema(transaction: Transaction<Tables>): Promise<Schema> {
  const columns = await sql<{ table: string; column: string }>`
    select c.relname as table, a.attname as column
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'
      and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''`.execute(transaction);
  const tables = new Map<string, Set<string>>();
  for (const { table, column } of columns.rows)
    tables.set(table, (tables.get(table) ?? new Set()).add(column));
  const sequences = await sql<{ name: string }>`
    select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'S'`.execute(
    transaction,
  );
  const names = await sql<{ name: string }>`
    select relname as name from pg_class where relnamespace = 'public'::regnamespace
    union select proname from pg_proc where pronamespace = 'public'::regnamespace
    union select typname from pg_type where typnamespace = 'public'::regnamespace
    union select conname from pg_constraint where connamespace = 'public'::regnamespace
    union select tgname from pg_trigger where not tgisinternal`.execute(transaction);
  return {
    tables,
    sequences: new Set(sequences.rows.map(({ name }) => name)),
    names: new Set(names.rows.map(({ name }) => name)),
  };
}

/** Rows come table by table, in the dump's order: foreign keys are taken away meanwhile, and triggers, which would tell of each row as of a
 *  change, rest. Without the rows that migrations insert. Returns what puts the foreign keys back; it checks all of them. */
export async function prepareForRows(
  transaction: Transaction<Tables>,
  { tables }: Schema,
): Promise<() => Promise<void>> {
  const { rows: keys } = await sql<{ table: string; name: string; definition: string }>`
    select c.relname as table, k.conname as name, pg_get_constraintdef(k.oid) as definition
    from pg_constraint k join pg_class c on c.oid = k.conrelid
    where k.contype = 'f' and k.connamespace = 'public'::regnamespace`.execute(transaction);
  const names = [...tables.keys()];
  for (const { table, name } of keys)
    await sql`alter table ${sql.id(table)} drop constraint ${sql.id(name)}`.execute(transaction);
  for (const table of names)
    await sql`alter table ${sql.id(table)} disable trigger user`.execute(transaction);
  await sql`truncate ${sql.join(names.map((name) => sql.id(name)))}`.execute(transaction);
  return async () => {
    for (const { table, name, definition } of keys)
      await sql`alter table ${sql.id(table)} add constraint ${sql.id(name)} ${sql.raw(definition)}`.execute(
        transaction,
      );
    for (const table of names)
      await sql`alter table ${sql.id(table)} enable trigger user`.execute(transaction);
  };
}

/** Runs `work` as a role that may insert rows into these tables and nothing else, where this connection may make one: rows of an unknown origin
 *  then never meet a superuser. The role of an operator's own database usually may not, and has no more rights than it was given. */
export async function asInserter<T>(transaction: Transaction<Tables>, work: () => Promise<T>): Promise<T> {
  const { rows } = await sql<{ superuser: boolean; role: string }>`
    select rolsuper as superuser, 'skerry_restore_' || pg_current_xact_id() || '_' || pg_backend_pid() as role
    from pg_roles where rolname = current_user`.execute(transaction);
  const [{ superuser, role: name } = { superuser: false, role: "" }] = rows;
  if (!superuser) return work();
  const role = sql.id(name);
  await sql`create role ${role} nologin nosuperuser nocreatedb nocreaterole noreplication nobypassrls noinherit`.execute(
    transaction,
  );
  await sql`grant insert on all tables in schema public to ${role}`.execute(transaction);
  await sql`grant usage on schema public to ${role}`.execute(transaction);
  await sql`set local role ${role}`.execute(transaction);
  const result = await work();
  await sql`reset role`.execute(transaction);
  await sql`drop owned by ${role}`.execute(transaction);
  await sql`drop role ${role}`.execute(transaction);
  return result;
}
