// Sandboxes whose host is not heard of any more.

import { sql } from "kysely";
import { recordOwnActs } from "../audit/audit-log.ts";
import type { Losses, LostHosts } from "../context.ts";
import { isClaimed } from "../db/claims.ts";
import type { Queries } from "../db/database.ts";
import { lostHosts } from "../hosts/lost-hosts.ts";

/**
 * Makes sandboxes unreachable until their host is back. Fails those that a request has left half made: the host
 * cannot be asked about them.
 */
export async function loseSandboxes(transaction: Queries, { hosts, service }: LostHosts): Promise<Losses> {
  const { rows } = await sql<{ id: string; org_id: string }>`
    update sandboxes set
      status = case when status = 'creating' then 'failed' else 'unreachable' end, version = version + 1,
      -- As with every other failure: what was never usable gives its name up.
      unique_name = case when status <> 'creating' then unique_name end,
      claimed_until = null, attempts = 0, retry_at = now(),
      reason = coalesce(reason, 'host_offline: its host ' || lost.name || ' is offline')
    from ${lostHosts(hosts)}
    where sandboxes.host_id = lost.id
      and (status in ('running', 'paused')
           or status in ('creating', 'pausing', 'resuming') and (lost.is_new or not ${isClaimed("sandboxes")}))
    returning sandboxes.id, org_id`.execute(transaction);
  await recordOwnActs(transaction, { service, action: "sandbox.fail", resource: "sandbox" }, rows);
  return { vms: rows.length };
}
