// Marks hosts offline that are not heard of any more, with what ran on them. Should they come back with their VMs, VM cleanup finds that
// nothing was lost after all.

import { recordOwnActs } from "../services/audit.ts";
import type { Context } from "../services/context.ts";
import { markOffline } from "../store/host-health.ts";
import { operatorOrganization } from "../store/organizations.ts";
import type { BackgroundService } from "./service.ts";

const SERVICE = "host-health-monitor";

export function hostHealthMonitor(context: Context, everyMs: number): BackgroundService {
  return {
    name: SERVICE,
    everyMs,
    async activate() {
      const losses = await context.db.transaction().execute(async (transaction) => {
        const found = await markOffline(transaction);
        const operator = found.length === 0 ? undefined : await operatorOrganization(transaction);
        for (const [kind, action] of acts) {
          const rows = found
            .filter((loss) => loss.kind === kind)
            .flatMap(({ id, org_id }) => {
              const owner = org_id ?? operator;
              return owner === undefined ? [] : [{ id, org_id: owner }];
            });
          await recordOwnActs(transaction, { service: SERVICE, action, resource: kind }, rows);
        }
        return found;
      });
      const hosts = losses.filter(({ kind }) => kind === "host");
      for (const { id, name } of hosts) context.log.warn({ host_id: id, name }, "a host is offline");
      if (losses.some(({ kind }) => kind === "machine")) context.ring("restart-manager");
      return { examined: losses.length, changed: losses.length, failed: 0, more: false };
    },
  };
}

const acts = [
  ["host", "host.offline"],
  ["sandbox", "sandbox.fail"],
  ["machine", "machine.end"],
] as const;
