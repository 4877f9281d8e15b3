// Marks hosts offline that are not heard of any more, with what ran on them. Should they come back with their VMs, VM cleanup finds that
// nothing was lost after all. A host that was removed does not come back: what is left to destroy on it counts as destroyed.

import type { Context } from "../context.ts";
import { failLostVms, tellLosses } from "./fail-lost-vms.ts";
import type { BackgroundService } from "../background/background-service.ts";

const SERVICE = "host-health-monitor";

export function hostHealthMonitor(context: Context, everyMs: number): BackgroundService {
  return {
    name: SERVICE,
    everyMs,
    async activate() {
      const losses = await context.db
        .transaction()
        .execute((transaction) => failLostVms(transaction, SERVICE));
      const hosts = losses.filter(({ kind }) => kind === "host");
      for (const { id, name } of hosts) context.log.warn({ host_id: id, name }, "a host is offline");
      tellLosses(context, losses);
      let changed = losses.length;
      for (const room of context.rooms) changed += (await room.endOnRemovedHosts?.(context.db)) ?? 0;
      return { examined: changed, changed, failed: 0, more: false };
    },
  };
}
