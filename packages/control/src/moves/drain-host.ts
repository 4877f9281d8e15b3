// Drains: the request, taking it back, and the end, which either the request sees, where the host is empty, or the task that looks again.

import type { Host } from "@skerry/contract/hosts/host";
import { finishDrains } from "../hosts/finish-drains.ts";
import { getHost, setHostDesired } from "../hosts/hosts.ts";
import { cancelMovesFrom } from "./move-store.ts";
import { operatorOrganization } from "../organizations/operator-organization.ts";
import { recordOwnActs } from "../audit/audit-log.ts";
import type { Context } from "../context.ts";

/** It gets no new VMs, and those that it has leave it. Asked again it changes nothing. */
export async function drainHost(context: Context, id: string): Promise<Host> {
  await setHostDesired(context, id, "drained");
  // An empty one is done.
  await endDrains(context);
  for (const service of ["mover", "template-spreader"] as const) context.wake(service);
  return getHost(context, id);
}

/** Takes a drain back, also one that has ended. */
export async function activateHost(context: Context, id: string): Promise<Host> {
  const host = await setHostDesired(context, id, "active");
  // What has not left yet stays.
  if ((await cancelMovesFrom(context.db, id, "canceled: its host stays")) > 0) context.wake("mover");
  return host;
}

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
