// How an organization stands: what it has, and whether there are hosts for it.

import { hostStatuses } from "@skerry/contract/hosts/host-status";
import type { Status } from "@skerry/contract/platform/status";
import { countsOf } from "@skerry/contract/counts";
import { countApps } from "../capacity/app-quota.ts";
import { countedVmStatuses, hostFigures, machineCount, sandboxCounts } from "./count-store.ts";
import { lastBackupAt } from "../hosts/command-generation.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";

export async function getStatus(context: Context, caller: Caller): Promise<Status> {
  const [apps, counts, machines, hosts, lastBackup] = await Promise.all([
    countApps(context.db, caller.orgId),
    sandboxCounts(context.db, caller.orgId),
    machineCount(context.db, caller.orgId),
    hostFigures(context.db),
    // A backup is of the whole platform, so only its operator hears of it.
    caller.scopes.has("hosts:read") ? lastBackupAt(context.db) : null,
  ]);
  return {
    apps,
    // There are none yet, in any organization.
    databases: 0,
    machines,
    sandboxes: countsOf(
      countedVmStatuses.sandbox,
      Object.fromEntries(counts.map(({ status, sandboxes }) => [status, sandboxes])),
    ),
    hosts: countByStatus(hostStatuses, hosts),
    last_backup: lastBackup?.toISOString() ?? null,
  };
}

/** How many have each status, also where none has. */
export function countByStatus<Status extends string>(
  statuses: readonly Status[],
  items: readonly { readonly status: Status }[],
): Record<Status, number> {
  const counts = statuses.map((status) => [status, items.filter((item) => item.status === status).length]);
  // The keys are the statuses; entries have lost that.
  return Object.fromEntries(counts) as Record<Status, number>;
}
