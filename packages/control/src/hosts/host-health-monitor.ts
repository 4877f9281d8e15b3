// Marks hosts offline that are not heard of any more, with what ran on them. Should they come back with their VMs, VM cleanup finds that
// nothing was lost after all. A host that was removed does not come back: what is left to destroy on it counts as destroyed.

import type { Context } from "../context.ts";
import { failLostVms } from "./fail-lost-vms.ts";
import type { BackgroundService } from "../background/background-service.ts";

const SERVICE = "host-health-monitor";

export function hostHealthMonitor(context: Context, everyMs: number): BackgroundService {
  return {
    name: SERVICE,
    everyMs,
    async activate() {
      const { hosts, losses } = await context.db
        .transaction()
        .execute((transaction) => failLostVms(context, transaction, SERVICE));
      for (const { id, name } of hosts) context.log.warn({ host_id: id, name }, "a host is offline");
      for (const { tell } of losses) tell?.(context);
      let changed = losses.reduce((sum, { vms }) => sum + vms, hosts.length);
      for (const room of context.rooms) changed += (await room.endOnRemovedHosts?.(context.db)) ?? 0;
      return { examined: changed, changed, failed: 0, more: false };
    },
  };
}
