// The end of a drain, whoever sees it first: the request for it, where the host is empty, or the service that looks again and again.

import { finishDrains } from "../hosts/host-view-store.ts";
import { operatorOrganization } from "../organizations/organization-store.ts";
import { recordOwnActs } from "../audit/audit-service.ts";
import type { Context } from "../context.ts";

const act = { service: "host-drain", action: "host.drained", resource: "host" } as const;

/** Puts draining hosts into maintenance on which no VM is left, and returns how many. */
export async function endDrains(context: Context): Promise<number> {
  const drained = await context.db.transaction().execute(async (transaction) => {
    const hosts = await finishDrains(transaction);
    const orgId = await operatorOrganization(transaction);
    if (orgId === undefined) return hosts;
    const events = hosts.map(({ id }) => ({ id, org_id: orgId }));
    await recordOwnActs(transaction, act, events);
    return hosts;
  });
  for (const { id, name } of drained) context.log.info({ host_id: id, name }, "a host is in maintenance");
  return drained.length;
}
