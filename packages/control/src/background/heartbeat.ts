// Asks the host of this machine how it is and writes the answer down, with the time of the database.

import { addressOfSocket } from "../hosts/host-directory.ts";
import { recordHeartbeat } from "../store/hosts.ts";
import type { Context } from "../services/context.ts";
import type { BackgroundService } from "./service.ts";

const RETRY_MS = 1_000;

export function heartbeat(context: Context, hostSocket: string, everyMs: number): BackgroundService {
  const address = addressOfSocket(hostSocket);
  return {
    name: "local-host-heartbeat",
    everyMs,
    // Both processes start at the same time; who comes first should not wait a whole period for the other.
    retryMs: Math.min(everyMs, RETRY_MS),
    async activate(stop) {
      const info = await context.hosts.client(address).info(stop);
      await recordHeartbeat(context.db, address, info);
      return { examined: 1, changed: 1, failed: 0, more: false };
    },
  };
}
