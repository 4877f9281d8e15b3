// One `COPY … FROM STDIN`, which the driver has no call for. Rows go to the server as messages of the protocol that hold data alone, so
// nothing in them can be taken for a statement.

import { once } from "node:events";
import type { Duplex } from "node:stream";
import type pg from "pg";

/** The part of the driver's connection that its types leave out. */
interface CopyConnection {
  readonly stream: Duplex;
  query(text: string): void;
  sendCopyFromChunk(chunk: Uint8Array): void;
  endCopyFrom(): void;
  sendCopyFail(reason: string): void;
}

export class CopyIn {
  readonly #connection: CopyConnection;
  readonly #ended: Promise<void>;

  private constructor(connection: CopyConnection, ended: Promise<void>) {
    this.#connection = connection;
    this.#ended = ended;
  }

  /** Resolves once the server takes rows. */
  static async begin(client: pg.Client, statement: string): Promise<CopyIn> {
    const started = Promise.withResolvers<CopyConnection>();
    const ended = Promise.withResolvers<void>();
    // The driver calls these on the statement that is under way.
    client.query({
      // Its real connection has the methods of `CopyConnection`.
      submit: (connection) => (connection as unknown as CopyConnection).query(statement),
      handleCopyInResponse: (connection: CopyConnection) => started.resolve(connection),
      handleCommandComplete: () => undefined,
      handleReadyForQuery: () => ended.resolve(),
      handleError: (error: Error) => {
        started.reject(error);
        ended.reject(error);
      },
    } satisfies pg.Submittable & Record<string, unknown>);
    // Both are rejected, and at most one is waited for at a time.
    started.promise.catch(() => undefined);
    ended.promise.catch(() => undefined);
    return new CopyIn(await started.promise, ended.promise);
  }

  async write(chunk: Uint8Array): Promise<void> {
    const { stream } = this.#connection;
    this.#connection.sendCopyFromChunk(chunk);
    // A server that has refused a row reads no more of them.
    if (stream.writableNeedDrain) await Promise.race([once(stream, "drain"), this.#ended]);
  }

  /** All rows are in the table. Rejects with the reason why the server refused one. */
  async finish(): Promise<void> {
    this.#connection.endCopyFrom();
    await this.#ended;
  }

  /** The connection takes other statements afterwards. */
  async abort(): Promise<void> {
    this.#connection.sendCopyFail("canceled");
    await this.#ended.catch(() => undefined);
  }
}
