// Forgets what is only kept for a day: Idempotency-Keys, the rate buckets of unused tokens, join tokens, login codes and sessions, logs and measurements of long ago, archives that no build of E2B's clients has come for, and who could sign URLs of sandboxes that have ended. None counts any more
// even before this has come by: an old key is as good as unused, an old bucket is full, an old join token has expired. And erases the
// environments of VMs that were destroyed by a version that did not.

import type { Context } from "../context.ts";
import { sweepBuildLogs, sweepBuilds } from "../builds/builder.ts";
import { isDatabaseOutage } from "../db/database.ts";
import { LeaseLostError } from "../db/fence.ts";
import { sweepAccesses } from "../e2b/sweep-accesses.ts";
import { sweepAskedBuilds } from "../e2b/sweep-asked-builds.ts";
import { sweepArchives } from "../e2b/sweep-archives.ts";
import { sweepIdempotencyKeys } from "../idempotency/create-once.ts";
import { sweepJoinTokens } from "../joining/join-host.ts";
import { sweepMachineRestarts } from "../machines/machine-restarts.ts";
import { sweepMoves } from "../moves/mover.ts";
import { sweepSessions } from "../organizations/session-tokens.ts";
import { sweepRateBuckets } from "../rate-limits/rate-limiter.ts";
import { sweepLoginCodes } from "../sessions/login-codes.ts";
import { sweepUsage } from "../usage/usage.ts";
import { sweepVmEvents } from "../vms/events/events.ts";
import { eraseLeftEnv } from "../vms/env.ts";
import type { BackgroundService } from "../background/background-service.ts";

const BATCH = 1_000;

/** Each removes at most so many rows, and resolves with how many they were. */
const SWEEPS: Readonly<Record<string, (db: Context["db"], limit: number) => Promise<number>>> = {
  sweepIdempotencyKeys,
  sweepRateBuckets,
  sweepJoinTokens,
  sweepLoginCodes,
  sweepSessions,
  sweepMoves,
  eraseLeftEnv,
  sweepVmEvents,
  sweepMachineRestarts,
  sweepBuilds,
  sweepBuildLogs,
  sweepAskedBuilds,
  sweepArchives,
  sweepAccesses,
  sweepUsage,
};

export function expiredRowsSweeper(context: Context, everyMs: number): BackgroundService {
  return {
    name: "sweeper",
    everyMs,
    async activate(stop) {
      let [changed, failed, more] = [0, 0, false];
      for (const [sweep, removeSome] of Object.entries(SWEEPS)) {
        try {
          const count = await removeSome(context.db, BATCH);
          changed += count;
          more ||= count === BATCH;
        } catch (error) {
          if (stop.aborted || error instanceof LeaseLostError || isDatabaseOutage(error)) throw error;
          // The rows of the other tables go all the same.
          failed += 1;
          context.log.warn({ err: error, sweep }, "rows that have expired could not be removed");
        }
      }
      return { examined: changed, changed, failed, more };
    },
  };
}
