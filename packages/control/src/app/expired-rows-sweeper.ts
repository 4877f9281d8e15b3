// Forgets what is only kept for a day: Idempotency-Keys, the rate buckets of unused tokens, and join tokens. None counts any more
// even before this has come by: an old key is as good as unused, an old bucket is full, an old join token has expired.

import type { Context } from "../context.ts";
import { sweepKeys } from "../idempotency/idempotency-service.ts";
import { sweepJoinTokens } from "../joining/join-service.ts";
import { sweepMoves } from "../moves/mover.ts";
import { sweepBuckets } from "../rate-limits/rate-limit-service.ts";

import type { BackgroundService } from "../background/task-loop.ts";

const BATCH = 1_000;

export function sweeper(context: Context, everyMs: number): BackgroundService {
  return {
    name: "sweeper",
    everyMs,
    async activate() {
      const swept = [
        await sweepKeys(context.db, BATCH),
        await sweepBuckets(context.db, BATCH),
        await sweepJoinTokens(context.db, BATCH),
        await sweepMoves(context.db, BATCH),
      ];
      const changed = swept.reduce((sum, count) => sum + count, 0);
      return { examined: changed, changed, failed: 0, more: swept.includes(BATCH) };
    },
  };
}
