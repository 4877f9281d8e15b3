// Connections whose every query has a deadline of ours. PostgreSQL ends a statement that takes too long, but not where it has died with
// its machine, is stopped, or where packets are lost on the way; then no answer comes, and TCP takes many minutes to find out.

import type { PostgresPool, PostgresPoolClient, PostgresQueryResult } from "kysely";
import type pg from "pg";
import { preparedName } from "./prepared.ts";

/** A connection that misses the deadline is cut: its query fails as with any lost connection, and it is not used again. */
export function poolWithDeadline(pool: pg.Pool, deadlineMs: number): PostgresPool {
  return {
    options: pool.options,
    end: () => pool.end(),
    async connect() {
      const client = await pool.connect();
      const query = async <Row>(
        text: string,
        values: readonly unknown[],
      ): Promise<PostgresQueryResult<Row>> => {
        using _deadline = afterNextRead(deadlineMs, () => cut(client));
        // Every statement has one of the commands that the type lists, or one that no code reads.
        return (await client.query(queryOf(text, values))) as unknown as PostgresQueryResult<Row>;
      };
      return {
        // The other overload is for cursors, of which we use none.
        query: query as PostgresPoolClient["query"],
        release: (destroy) => client.release(destroy),
      };
    },
  };
}

/**
 * Calls back after this time, unless it is disposed of, and not before the event loop has read what has come until then: where the
 * loop was late, the answer may be there already, and timers run before sockets are read.
 */
function afterNextRead(ms: number, call: () => void): Disposable {
  let read: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => (read = setImmediate(call)), ms);
  return {
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      clearImmediate(read);
    },
  };
}

function queryOf(text: string, values: readonly unknown[]): pg.QueryConfig {
  const name = preparedName(text);
  return { text, values: [...values], ...(name === undefined ? {} : { name }) };
}

function cut(client: pg.PoolClient): void {
  // A client of a pool is one, and has a connection; the type of the pool's is only narrower.
  (client as unknown as pg.Client).connection.stream.destroy();
}
