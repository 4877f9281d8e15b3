// Measures what organizations have. Twice a minute, because a service is never exactly on time and each minute should be measured.

import type { BackgroundService } from "../background/background-service.ts";
import type { Context } from "../context.ts";
import { countDenials } from "./count-denials.ts";
import { countCreations, measureUsage } from "./usage-store.ts";

export function usageSampler(context: Context, everyMs: number): BackgroundService {
  return {
    name: "usage-sampler",
    everyMs,
    async activate(stop) {
      const measured = await measureUsage(context.db);
      await countCreations(context.db);
      const failed = await countDenials(context, stop);
      return { examined: measured, changed: measured, failed, more: false };
    },
  };
}
