// The end of a host that is not heard of any more, or is none any more, and of what ran on it.

import { recordOwnActs } from "../audit/audit-log.ts";
import type { Context, Losses, LostHost } from "../context.ts";
import type { Queries } from "../db/database.ts";
import { operatorOrganization } from "../organizations/operator-organization.ts";
import { markOffline } from "./offline-store.ts";

interface Found {
  /** Hosts that are offline since now. */
  readonly hosts: readonly LostHost[];
  readonly losses: readonly Losses[];
}

/** Marks silent hosts offline, and has the rooms say what becomes of all that is on hosts that are. */
export async function failLostVms(context: Context, transaction: Queries, service: string): Promise<Found> {
  const offline = await markOffline(transaction);
  const hosts = offline.filter(({ is_new: isNew }) => isNew);
  const operator = hosts.length === 0 ? undefined : await operatorOrganization(transaction);
  if (operator !== undefined)
    await recordOwnActs(
      transaction,
      { service, action: "host.offline", resource: "host" },
      hosts.map(({ id }) => ({ id, org_id: operator })),
    );
  const losses: Losses[] = [];
  for (const room of offline.length === 0 ? [] : context.rooms) {
    const lost = await room.onHostsLost?.(transaction, { hosts: offline, service });
    if (lost !== undefined) losses.push(lost);
  }
  return { hosts, losses };
}
