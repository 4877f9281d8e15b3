// A control plane that dies between two statements: after so many of them its database answers nothing any more, so that whatever it was at
// stays as it is.

import type { KyselyPlugin } from "kysely";
import type { Database } from "../src/db/database.ts";

export class Mortal {
  #statementsLeft = Infinity;

  /** The same database, for one who may die. */
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

  /** The next one takes its place. */
  live(): void {
    this.#statementsLeft = Infinity;
  }
}
