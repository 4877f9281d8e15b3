// Puts a draining host into maintenance when the last VM has left it.

import type { Context } from "../context.ts";
import { endDrains } from "./drain-host.ts";
import type { BackgroundService } from "../background/background-service.ts";

export function drainFinisher(context: Context, everyMs: number): BackgroundService {
  return {
    name: "host-drain",
    everyMs,
    async activate() {
      const drained = await endDrains(context);
      return { examined: drained, changed: drained, failed: 0, more: false };
    },
  };
}
