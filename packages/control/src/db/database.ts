// The connection to PostgreSQL. The shape of its tables lies by room in `tables/`.

import { Kysely, PostgresDialect, type PostgresPool, type Transaction } from "kysely";
import pg from "pg";
import { poolWithDeadline } from "./pool-with-deadline.ts";
import { FencedDialect, type Fence } from "./fence.ts";
import { poolWithPipelinedBegin } from "./pipelined-begin.ts";

const POOL_MAX_CONNECTIONS = 20;
const CONNECT_TIMEOUT_MS = 5_000;
/** A new one is a process of PostgreSQL's that knows no statement of ours yet, and a burst opens all at once. */
const IDLE_CONNECTION_MS = 10 * 60_000;
/** No query of ours takes seconds; one that does is stuck behind a lock, and is ended by PostgreSQL. */
const STATEMENT_TIMEOUT_MS = 8_000;
/** After this the server will not answer any more. */
const ANSWER_WITHIN_MS = 10_000;
/** A migration may have many rows to look at. */
const MIGRATION_WITHIN_MS = 30 * 60_000;

/** Tables by name. The files in `tables/`, or one of a room, add theirs. */
export interface Tables {}

export type Database = Kysely<Tables>;
/** What a query runs on: the pool, or a transaction. */
export type Queries = Database | Transaction<Tables>;

/** Opens nothing yet: the pool connects when the first query comes. `onLostConnection` hears of connections that die. */
export function openDatabase(url: string, onLostConnection: (error: Error) => void): Database {
  return open(url, onLostConnection, { statementMs: STATEMENT_TIMEOUT_MS, answerMs: ANSWER_WITHIN_MS });
}

/** The same for a process, or a part of one, that does nothing else. */
export function openForMigration(url: string): Database {
  return open(url, () => undefined, { statementMs: MIGRATION_WITHIN_MS, answerMs: MIGRATION_WITHIN_MS });
}

function open(
  url: string,
  onLostConnection: (error: Error) => void,
  { statementMs, answerMs }: { readonly statementMs: number; readonly answerMs: number },
): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max: POOL_MAX_CONNECTIONS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: IDLE_CONNECTION_MS,
    statement_timeout: statementMs,
    idle_in_transaction_session_timeout: statementMs,
    application_name: "skerry-control",
    pipeline: true,
  });
  pool.on("error", onLostConnection);
  // The pool listens only to connections that are idle; one that breaks while a query holds it would end the process.
  pool.on("connect", (client) => client.on("error", onLostConnection));
  const bounded = poolWithPipelinedBegin(poolWithDeadline(pool, answerMs));
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: bounded }) });
  pools.set(db, { pool, bounded });
  return db;
}

const pools = new WeakMap<Database, { readonly pool: pg.Pool; readonly bounded: PostgresPool }>();

/** The same database for one who may write only while a lease is held. Its connections are those of `db`; do not close it. */
export function fencedDatabase(db: Database, fence: Fence): Database {
  const opened = pools.get(db);
  if (opened === undefined) throw new Error("only an opened database can be fenced");
  const fenced = new Kysely<Tables>({ dialect: new FencedDialect(opened.bounded, fence) });
  pools.set(fenced, opened);
  return fenced;
}

/** How many queries wait for a connection at this moment. */
export function waitingQueries(db: Database): number {
  return pools.get(db)?.pool.waitingCount ?? 0;
}

/** Classes of PostgreSQL's own codes: connection exceptions, and the server going down or coming up. */
const OUTAGE_CODES = /^(08...|57P0[123]|53300)$/;
/** The errors of the driver and the socket when no server answers. */
const OUTAGE_MESSAGES =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/;

/** Whether the database is away, as opposed to having refused what we asked. */
export function isDatabaseOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, syscall } = error as { code?: unknown; syscall?: unknown };
  if (typeof code === "string" && OUTAGE_CODES.test(code)) return true;
  // A host that cannot be reached has become a SkerryError before; the only other socket of a handler is the database's.
  if (syscall === "connect" || code === "EPIPE" || code === "ECONNRESET") return true;
  return OUTAGE_MESSAGES.test(error.message);
}
