// Destroys sandboxes whose time is over. All are marked in one statement; a host that does not answer delays only its own, which
// the reconciler finishes.

import { recordOwnActs } from "../audit/audit-log.ts";
import { finishDestroying } from "./destroy-sandbox.ts";
import type { Context } from "../context.ts";
import { expireSandboxes } from "./sandbox-facts.ts";
import { reportOf, type BackgroundService } from "../background/background-service.ts";

const SERVICE = "sandbox-reaper";
const BATCH = 32;

export function sandboxReaper(context: Context, everyMs: number): BackgroundService {
  return {
    name: SERVICE,
    everyMs,
    async activate(stop) {
      const expired = await context.db.transaction().execute(async (transaction) => {
        const rows = await expireSandboxes(transaction, BATCH);
        await recordOwnActs(
          transaction,
          { service: SERVICE, action: "sandbox.expire", resource: "sandbox" },
          rows,
        );
        return rows;
      });
      // Settled, not all: no host call may outlive the activation that made it.
      const results = await Promise.allSettled(expired.map((row) => finishDestroying(context, row, stop)));
      return reportOf(results, { examined: expired.length, more: expired.length === BATCH });
    },
  };
}
