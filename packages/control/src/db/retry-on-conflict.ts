// Writers that read a row, decide, and lose to another writer.

import type { SkerryError } from "@skerry/contract/errors";

/** Who loses this often meets a bug, not a race. */
const ATTEMPTS_MAX = 10;

/** Has `attempt` read and decide anew for as long as another writer is first, which it says by `undefined`. */
export async function retryOnConflict<Row>(
  attempt: () => Promise<Row | undefined>,
  lost: () => SkerryError,
): Promise<Row> {
  for (let attempts = 0; attempts < ATTEMPTS_MAX; attempts += 1) {
    const row = await attempt();
    if (row !== undefined) return row;
  }
  throw lost();
}
