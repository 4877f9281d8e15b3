// Destroys sandboxes whose time is over. All are marked in one statement; a host that does not answer delays only its own, which
// the reconciler finishes.

import { finishDestroying } from "../services/sandbox-destruction.ts";
import type { Context } from "../services/context.ts";
import { expireSandboxes } from "../store/sandbox-upkeep.ts";
import { reportOf, type BackgroundService } from "./service.ts";

const BATCH = 32;

export function sandboxReaper(context: Context, everyMs: number): BackgroundService {
  return {
    name: "sandbox-reaper",
    everyMs,
    async activate(stop) {
      const expired = await expireSandboxes(context.db, BATCH);
      // Settled, not all: no host call may outlive the activation that made it.
      const results = await Promise.allSettled(expired.map((row) => finishDestroying(context, row, stop)));
      return reportOf(results, { examined: expired.length, more: expired.length === BATCH });
    },
  };
}
