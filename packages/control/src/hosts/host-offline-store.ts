// The end of a host that is not heard of any more, and of what ran on it.

import { sql } from "kysely";
import { HOST_OFFLINE_AFTER_S } from "@skerry/contract/host-states";
import { BACKOFF_FIRST_S, BACKOFF_MAX_S, HEALTHY_AFTER_S } from "@skerry/contract/machine-states";
import type { Queries } from "../db/database.ts";

/** A host counts as silent only where it was asked in vain at least twice, which is a period apart, and lately. Where control or the database
 *  was away nobody was asked, and nobody is to blame. */
const ASKED_IN_VAIN_FOR_S = 5;
const ASKED_LATELY_S = 25;

export interface Loss {
  readonly kind: "host" | "sandbox" | "machine";
  readonly id: string;
  /** Null for a host. */
  readonly org_id: string | null;
  readonly name: string;
}

/**
 * Marks hosts offline that were silent for 30 s, with what ran on them, all in one statement: sandboxes are unreachable, machines have failed.
 * What a request left half done on a host that is offline has failed too, once the request's claim has lapsed: the host cannot be asked about
 * it. Machines whose disk does not matter are queued by their policy as `machines/restart-policy.ts` has it; all others wait for the host.
 */
export async function markOffline(db: Queries): Promise<Loss[]> {
  const { rows } = await sql<Loss>`
    with silent as (
      update hosts set status = 'offline', version = version + 1, status_since = now(), waits_for = null
      where status in ('online', 'draining') and removed_at is null
        and last_heartbeat <= now() - ${HOST_OFFLINE_AFTER_S} * interval '1 second'
        and silent_until > now() - ${ASKED_LATELY_S} * interval '1 second'
        and silent_until - silent_since >= ${ASKED_IN_VAIN_FOR_S} * interval '1 second'
      returning id, name
    ), gone as (
      select id, name, true as now from silent
      union all
      select id, name, false from hosts where status = 'offline'
    ), lost_sandboxes as (
      update sandboxes set
        status = case when status = 'running' then 'unreachable' else 'failed' end, version = version + 1,
        claimed_until = null, attempts = 0, retry_at = now(),
        reason = coalesce(reason, 'host_offline: its host ' || gone.name || ' is offline')
      from gone
      where sandboxes.host_id = gone.id
        and (status = 'running' or status = 'creating' and (gone.now or coalesce(claimed_until < now(), true)))
      returning sandboxes.id, org_id, gone.name
    ), dying_machines as (
      select machines.id, machines.status, gone.name, ${isWanted} as wanted, ${retriesSoFar} as retries,
        ${isWanted} and restart_disk = 'disposable'
          and (restart_max_retries is null or ${retriesSoFar} < restart_max_retries) as again,
        restart_disk
      from machines join gone on machines.host_id = gone.id
      where machines.status in ('running', 'stopping')
        or machines.status in ('creating', 'starting') and (gone.now or coalesce(claimed_until < now(), true))
      for no key update of machines
    ), lost_machines as (
      update machines set
        status = 'failed', version = version + 1, host_lost = dying.status <> 'creating', claimed_until = null,
        attempts = 0, retry_at = now(), stopped_at = now(), retries = dying.retries + dying.again::integer,
        reason = 'host_offline: its host ' || dying.name || ' is offline' || case
          when dying.wanted and dying.restart_disk = 'keep' then '; it waits for the host, which has its disk'
          when dying.wanted and not dying.again then '; it is not started again: its \`max_retries\` are used up'
          else '' end
      from dying_machines dying where machines.id = dying.id
      returning machines.id, org_id, dying.name, dying.retries, dying.again
    ), queued as (
      insert into restarts (machine_id, due_at)
      select id, now() + least(power(2, least(retries, 20)) * ${BACKOFF_FIRST_S}, ${BACKOFF_MAX_S})
                         * (0.5 + random() / 2) * interval '1 second'
      from lost_machines where again
      on conflict (machine_id) do nothing
    )
    select 'host' as kind, id, null as org_id, name from silent
    union all select 'sandbox', id, org_id, name from lost_sandboxes
    union all select 'machine', id, org_id, name from lost_machines`.execute(db);
  return rows;
}

/** Its policy starts it again after a failure. One that never ran was never usable, and whoever asked for it was told so. */
const isWanted = sql`
  (machines.desired = 'running' and restart_policy in ('always', 'on-failure') and started_at is not null)`;

/** None, where it ran well for long enough. */
const retriesSoFar = sql`
  (case when machines.status = 'running' and started_at <= now() - ${HEALTHY_AFTER_S} * interval '1 second'
        then 0 else machines.retries end)`;
