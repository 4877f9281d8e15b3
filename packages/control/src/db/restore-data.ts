// Restores the rows of a backup. The schema is made by our own migrations, up to those that the backup's database had; the dump gives rows of
// tables that they have made, and the migrations after them see these rows as they would have seen them in the original.

import { Kysely, PostgresDialect, sql, type Transaction } from "kysely";
import pg from "pg";
import { CopyIn } from "./copy-in.ts";
import type { Tables } from "./database.ts";
import { readDump, type SequencePart, type TablePart } from "./dump-reader.ts";
import { applyMigrations, knownMigrations, lockMigrations } from "./migrations.ts";
import { asInserter, prepareForRows, readSchema, type Schema } from "./restore-schema.ts";

const MIGRATIONS_TABLE = "schema_migrations";
const MIGRATIONS_TEXT_MAX_BYTES = 1024 * 1024;
/** Of the names that an answer lists. */
const DROPPED_MAX = 20;

/** The dump is none of Skerry's, or not of a version that this one can restore. */
export class RestoreFault extends Error {
  override readonly name = "RestoreFault";
}

/** Reads in a dump which migrations its database had. */
export async function readDumpedMigrations(script: AsyncIterable<Uint8Array>): Promise<readonly number[]> {
  for await (const part of readDump(script)) {
    if (part.kind !== "table" || part.table !== MIGRATIONS_TABLE) continue;
    const at = part.columns.indexOf("number");
    let text = "";
    for await (const chunk of part.rows) {
      text += chunk.toString("latin1");
      if (text.length > MIGRATIONS_TEXT_MAX_BYTES) throw notOurs();
    }
    const numbers = text
      .split("\n")
      .slice(0, -1)
      .map((row) => row.split("\t")[at] ?? "");
    if (numbers.length === 0 || !numbers.every((number) => /^\d{1,6}$/.test(number))) throw notOurs();
    return numbers.map(Number);
  }
  throw notOurs();
}

function notOurs(): RestoreFault {
  return new RestoreFault("It has no list of migrations: it is not a dump of Skerry's database.");
}

export interface RestoredData {
  /** Tables and sequences of the dump that no migration makes; their rows were left out. */
  readonly dropped: readonly string[];
  /** See `Schema`; as of the migrations that the dump's database had. */
  readonly names: readonly string[];
}

/** All or nothing, into a database without tables. `migrated`: what `readDumpedMigrations` has found. */
export async function restoreData(
  url: string,
  migrated: readonly number[],
  script: AsyncIterable<Uint8Array>,
): Promise<RestoredData> {
  const unknown = migrated.filter((number) => !knownMigrations.includes(number));
  if (unknown.length > 0)
    throw new RestoreFault(`It has migration ${unknown.join(", ")}, which this version does not know.`);
  const client = new pg.Client({ connectionString: url, application_name: "skerry-restore" });
  // The statement that is under way fails with the same error.
  client.on("error", () => undefined);
  await client.connect();
  try {
    const pool = { options: {}, connect: async () => connectionOf(client), end: async () => undefined };
    const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
    return await db.transaction().execute(async (transaction) => {
      await lockMigrations(transaction);
      await refuseTables(transaction);
      await applyMigrations(transaction, (number) => migrated.includes(number));
      const schema = await readSchema(transaction);
      const putBack = await prepareForRows(transaction, schema);
      const loading = { client, transaction, schema };
      const { dropped, sequences } = await asInserter(transaction, () => loadRows(loading, script));
      await sql`set local client_encoding to 'UTF8'`.execute(transaction);
      for (const { sequence, value, isCalled } of sequences)
        await sql`select setval(${`public.${sequence}`}::regclass, ${value}::bigint, ${isCalled})`.execute(
          transaction,
        );
      await putBack();
      await requireMigrations(transaction, migrated);
      await applyMigrations(transaction);
      return { dropped: dropped.slice(0, DROPPED_MAX), names: [...schema.names] };
    });
  } finally {
    await client.end();
  }
}

/** Copying needs the driver's client itself, in the same transaction. */
function connectionOf(client: pg.Client) {
  return { query: client.query.bind(client), release: () => undefined };
}

async function refuseTables(transaction: Transaction<Tables>): Promise<void> {
  const { rows } = await sql`select from pg_tables where schemaname = 'public' limit 1`.execute(transaction);
  if (rows.length > 0) throw new RestoreFault("The database has tables.");
}

interface Loading {
  readonly client: pg.Client;
  readonly transaction: Transaction<Tables>;
  readonly schema: Schema;
}

interface Loaded {
  readonly dropped: readonly string[];
  readonly sequences: readonly SequencePart[];
}

async function loadRows(loading: Loading, script: AsyncIterable<Uint8Array>): Promise<Loaded> {
  const { tables, sequences } = loading.schema;
  const dropped = new Set<string>();
  const values: SequencePart[] = [];
  for await (const part of readDump(script)) {
    if (part.kind === "encoding")
      await sql`select set_config('client_encoding', ${part.encoding}, true)`.execute(loading.transaction);
    else if (part.kind === "table") {
      const known = part.table === undefined ? undefined : tables.get(part.table);
      if (known !== undefined) await loadTable(loading, part, known);
      else if (dropped.size < DROPPED_MAX) dropped.add(`table ${part.shown}`);
    } else if (sequences.has(part.sequence)) values.push(part);
    else if (dropped.size < DROPPED_MAX) dropped.add(`sequence ${part.sequence}`);
  }
  return { dropped: [...dropped], sequences: values };
}

/** By a statement of our own: of the dump's it has the names of columns that the table has. */
async function loadTable(
  { client }: Loading,
  { table = "", columns, rows }: TablePart,
  known: ReadonlySet<string>,
): Promise<void> {
  const unknown = columns.filter((column, at) => !known.has(column) || columns.indexOf(column) !== at);
  if (unknown.length > 0)
    throw new RestoreFault(
      `Its table ${table} has columns that no table of that version had: ${unknown.slice(0, DROPPED_MAX).join(", ")}.`,
    );
  const names = columns.map((column) => `"${column}"`).join(", ");
  const copy = await CopyIn.begin(client, `copy public."${table}" (${names}) from stdin`);
  try {
    for await (const chunk of rows) await copy.write(chunk);
    await copy.finish();
  } catch (error) {
    await copy.abort();
    throw error;
  }
}

async function requireMigrations(
  transaction: Transaction<Tables>,
  migrated: readonly number[],
): Promise<void> {
  const { rows } = await sql<{ number: number }>`select number from schema_migrations`.execute(transaction);
  const there = new Set(rows.map(({ number }) => number));
  if (there.size === new Set(migrated).size && migrated.every((number) => there.has(number))) return;
  throw new RestoreFault("It has two lists of migrations, which differ.");
}
