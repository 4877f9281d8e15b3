// A control plane that dies between two statements: after a given number of them its database refuses all that follow, so that the work in
// progress stays as it is.

import type { KyselyPlugin } from "kysely";
import type { Database } from "../../src/db/database.ts";

export class DyingDatabase {
  #statementsLeft = Infinity;

  /** The same database, for a control plane that may die. */
  over(db: Database): Database {
    const plugin: KyselyPlugin = {
      transformQuery: ({ node }) => {
        this.#statementsLeft -= 1;
        if (this.#statementsLeft < 0) throw new Error("control has died");
        return node;
      },
      transformResult: async ({ result }) => result,
    };
    return db.withPlugin(plugin);
  }

  dieAfter(statements: number): void {
    this.#statementsLeft = statements;
  }

  /** The next control plane takes its place. */
  live(): void {
    this.#statementsLeft = Infinity;
  }
}
