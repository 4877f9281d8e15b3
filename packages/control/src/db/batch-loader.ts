// Look-ups by key that come at the same time go to the database as one query. A query and its answer cost two processes a system
// call each and a change between them, far more than a row more or less.

import type { Database } from "./database.ts";

/** Fetches the rows of these keys, in any order; a key without a row is left out. */
type Fetch<Row> = (db: Database, keys: readonly string[]) => Promise<(readonly [key: string, row: Row])[]>;

const KEYS_MAX = 100;

export class BatchLoader<Row> {
  readonly #fetch: Fetch<Row>;
  readonly #next = new WeakMap<Database, Batch<Row>>();

  constructor(fetch: Fetch<Row>) {
    this.#fetch = fetch;
  }

  /** Sees everything that was committed before the call: it never joins a query that is already on its way. */
  async find(db: Database, key: string): Promise<Row | undefined> {
    let batch = this.#next.get(db);
    if (batch === undefined || batch.keys.size >= KEYS_MAX) {
      batch = this.#open(db);
      this.#next.set(db, batch);
    }
    batch.keys.add(key);
    return (await batch.rows).get(key);
  }

  /** Sent when all that this turn of the event loop has read from its sockets is here. */
  #open(db: Database): Batch<Row> {
    const { promise, resolve, reject } = Promise.withResolvers<Map<string, Row>>();
    const batch: Batch<Row> = { keys: new Set(), rows: promise };
    setImmediate(() => {
      if (this.#next.get(db) === batch) this.#next.delete(db);
      this.#fetch(db, [...batch.keys]).then((found) => resolve(new Map(found)), reject);
    });
    return batch;
  }
}

interface Batch<Row> {
  readonly keys: Set<string>;
  readonly rows: Promise<Map<string, Row>>;
}
