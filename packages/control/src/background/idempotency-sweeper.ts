// Forgets Idempotency-Keys a day after their first use. A key that is older counts as unused even before this has come by.

import type { Context } from "../services/context.ts";
import { sweepKeys } from "../store/idempotency.ts";
import type { BackgroundService } from "./service.ts";

const BATCH = 1_000;

export function idempotencySweeper(context: Context, everyMs: number): BackgroundService {
  return {
    name: "idempotency-sweeper",
    everyMs,
    async activate() {
      const swept = await sweepKeys(context.db, BATCH);
      return { examined: swept, changed: swept, failed: 0, more: swept === BATCH };
    },
  };
}
