// Forgets what is only kept for a day: Idempotency-Keys, the rate buckets of unused tokens, join tokens, login codes and sessions, logs and measurements of long ago, archives that no build of E2B's clients has come for, and who could sign URLs of sandboxes that have ended. None counts any more
// even before this has come by: an old key is as good as unused, an old bucket is full, an old join token has expired. And erases the
// environments of VMs that were destroyed by a version that did not.

import type { Context } from "../context.ts";
import { sweepBuildLogs, sweepBuilds } from "../builds/builder.ts";
import { sweepAccesses } from "../e2b/sweep-accesses.ts";
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

export function expiredRowsSweeper(context: Context, everyMs: number): BackgroundService {
  return {
    name: "sweeper",
    everyMs,
    async activate() {
      const swept = [
        await sweepIdempotencyKeys(context.db, BATCH),
        await sweepRateBuckets(context.db, BATCH),
        await sweepJoinTokens(context.db, BATCH),
        await sweepLoginCodes(context.db, BATCH),
        await sweepSessions(context.db, BATCH),
        await sweepMoves(context.db, BATCH),
        await eraseLeftEnv(context.db, BATCH),
        await sweepVmEvents(context.db, BATCH),
        await sweepMachineRestarts(context.db, BATCH),
        await sweepBuilds(context.db, BATCH),
        await sweepBuildLogs(context.db, BATCH),
        await sweepArchives(context.db, BATCH),
        await sweepAccesses(context.db, BATCH),
        await sweepUsage(context.db, BATCH),
      ];
      const changed = swept.reduce((sum, count) => sum + count, 0);
      return { examined: changed, changed, failed: 0, more: swept.includes(BATCH) };
    },
  };
}
