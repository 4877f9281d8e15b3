// One trip to PostgreSQL less for each transaction: `begin` and the statements that only look are sent together, and answered together.

import type { PostgresPool, PostgresPoolClient, PostgresQueryResult } from "kysely";
import { sql } from "kysely";

/** At the start of such a statement, where it is not built of `sql`. */
export const PIPELINED = "/* pipelined */";

/** The start of a statement that writes nothing, and so may be sent before `begin` was answered: where `begin` alone fails, it has done
 *  nothing by itself. Its result is not told before `begin` has succeeded. */
export const pipelined = sql.raw(PIPELINED);

const UNANSWERED: PostgresQueryResult<never> = { command: "SELECT", rowCount: 0, rows: [] };

/** The clients of `pool` must send without waiting for the answer to what they sent before (`pipeline`). */
export function poolWithPipelinedBegin(pool: PostgresPool): PostgresPool {
  return {
    options: pool.options,
    end: () => pool.end(),
    async connect() {
      const client = await pool.connect();
      let begun: Promise<unknown> | undefined;
      /** A statement waits for `begin`, and later ones must not overtake it. */
      let inOrder = false;
      const query = async <Row>(
        text: string,
        values: readonly unknown[],
      ): Promise<PostgresQueryResult<Row>> => {
        if (text === "begin") {
          const beginning = client.query(text, values);
          begun = beginning;
          inOrder = false;
          beginning.then(
            () => {
              if (begun === beginning) begun = undefined;
            },
            () => undefined, // the next statement gets the error
          );
          return UNANSWERED;
        }
        if (begun === undefined) return client.query<Row>(text, values);
        inOrder ||= !text.startsWith(PIPELINED);
        if (inOrder) await begun;
        const [result] = await Promise.all([client.query<Row>(text, values), begun]);
        return result;
      };
      return {
        query: query as PostgresPoolClient["query"],
        release: (destroy) => client.release(destroy),
      };
    },
  };
}
