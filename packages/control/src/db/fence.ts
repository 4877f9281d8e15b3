// A database for one who may write only while a lease is held. Every transaction begins by checking that the lease has not changed hands,
// and a write outside of one gets a transaction for it; so a replica that was stopped in the middle of its work, and wakes up when another one
// has gone on with it, writes nothing. Code that works with such a database cannot forget the check. Statements that only read are not checked.

import {
  CompiledQuery,
  PostgresDialect,
  PostgresDriver,
  type DatabaseConnection,
  type Driver,
  type PostgresPool,
  type QueryResult,
  type TransactionSettings,
} from "kysely";
import { PIPELINED } from "./pipelined-begin.ts";

/** The lease that its holder writes under at this moment. Undefined: none, so nothing may be written. */
export interface Fence {
  held: { readonly name: string; readonly token: string } | undefined;
}

/** This replica does not have the work any more; nothing was written. */
export class LeaseLostError extends Error {
  override readonly name = "LeaseLostError";

  constructor(lease: string | undefined) {
    super(`the lease${lease === undefined ? "" : ` of ${lease}`} is not held any more`);
  }
}

export class FencedDialect extends PostgresDialect {
  readonly #pool: PostgresPool;
  readonly #fence: Fence;

  constructor(pool: PostgresPool, fence: Fence) {
    super({ pool });
    this.#pool = pool;
    this.#fence = fence;
  }

  override createDriver(): Driver {
    return new FencedDriver(this.#pool, this.#fence);
  }
}

type PostgresConnection = Parameters<PostgresDriver["releaseConnection"]>[0];

class FencedDriver implements Driver {
  readonly #inner: PostgresDriver;
  readonly #fence: Fence;

  constructor(pool: PostgresPool, fence: Fence) {
    this.#inner = new PostgresDriver({ pool });
    this.#fence = fence;
  }

  init(): Promise<void> {
    return this.#inner.init();
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    // What the driver gives out is what it takes back, though its types do not say so.
    const connection = (await this.#inner.acquireConnection()) as PostgresConnection;
    return new FencedConnection(connection, this);
  }

  async beginTransaction(connection: DatabaseConnection, settings: TransactionSettings): Promise<void> {
    const fenced = fencedOf(connection);
    await this.#inner.beginTransaction(fenced.inner, settings);
    try {
      await this.#check(fenced.inner);
    } catch (error) {
      await this.#inner.rollbackTransaction(fenced.inner);
      throw error;
    }
    fenced.inTransaction = true;
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    const fenced = fencedOf(connection);
    fenced.inTransaction = false;
    await this.#inner.commitTransaction(fenced.inner);
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    const fenced = fencedOf(connection);
    fenced.inTransaction = false;
    await this.#inner.rollbackTransaction(fenced.inner);
  }

  releaseConnection(connection: DatabaseConnection): Promise<void> {
    return this.#inner.releaseConnection(fencedOf(connection).inner);
  }

  /** The pool is its owner's. */
  async destroy(): Promise<void> {}

  /** Until the transaction ends no other replica can take the lease: that would change a key, which this lock forbids. */
  async #check(connection: PostgresConnection): Promise<void> {
    const { held } = this.#fence;
    if (held === undefined) throw new LeaseLostError(undefined);
    const { rows } = await connection.executeQuery(
      CompiledQuery.raw(`${PIPELINED} select 1 from leases where name = $1 and token = $2 for key share`, [
        held.name,
        held.token,
      ]),
    );
    if (rows.length === 0) throw new LeaseLostError(held.name);
  }
}

const READS = /^\s*select\b/i;

class FencedConnection implements DatabaseConnection {
  readonly inner: PostgresConnection;
  readonly #driver: FencedDriver;
  inTransaction = false;

  constructor(inner: PostgresConnection, driver: FencedDriver) {
    this.inner = inner;
    this.#driver = driver;
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    if (this.inTransaction || READS.test(query.sql)) return this.inner.executeQuery<Row>(query);
    await this.#driver.beginTransaction(this, {});
    try {
      const result = await this.inner.executeQuery<Row>(query);
      await this.#driver.commitTransaction(this);
      return result;
    } catch (error) {
      // Where the connection itself is broken there is nothing to roll back.
      await this.#driver.rollbackTransaction(this).catch(() => undefined);
      throw error;
    }
  }

  streamQuery<Row>(query: CompiledQuery, chunkSize: number): AsyncIterableIterator<QueryResult<Row>> {
    return this.inner.streamQuery<Row>(query, chunkSize);
  }
}

function fencedOf(connection: DatabaseConnection): FencedConnection {
  if (connection instanceof FencedConnection) return connection;
  throw new Error("a connection of another driver");
}
