// What the background services ask about machines of all organizations.

import { sql, type Selectable } from "kysely";
import { HEALTHY_AFTER_S } from "@skerry/contract/machines/machine-status";
import { isClaimed } from "../db/claims.ts";
import { isPostponed } from "../vms/postpone.ts";
import type { Database, Tables } from "../db/database.ts";
import { steadyNow } from "../db/steady-time.ts";

type Row = Selectable<Tables["machines"]>;

/** A machine as its host's list of VMs is compared with it. */
export interface MachineFact extends Pick<
  Row,
  | "id"
  | "org_id"
  | "status"
  | "desired"
  | "restart_wished"
  | "version"
  | "execution_id"
  | "host_id"
  | "stop_timeout_ms"
  | "stopped_idle"
  | "health_check"
  | "check_version"
  | "health"
  | "restart_policy"
  | "restart_max_retries"
  | "retries"
  | "host_lost"
  | "rollback_to"
  | "reason"
  | "attempts"
> {
  /** A replica is working on it at this moment. */
  readonly claimed: boolean;
  /** The host has not confirmed the stored egress policy. */
  readonly egress_due: boolean;
  /** What failed is not due for its next attempt yet. */
  readonly waiting: boolean;
  readonly has_run: boolean;
  /** A fork that does not run yet: the others that are made with it must not either, if it never does. */
  readonly is_unfinished_fork: boolean;
  /** It runs, and has for so long that what it had tried before counts no more. */
  readonly ran_well: boolean;
  /** It is in the queue of those that are started again. */
  readonly queued: boolean;
  /** How long until its claim lapses or its next attempt is due. */
  readonly due_in_ms: number | null;
}

const FACTS = sql`
  id, org_id, status, desired, restart_wished, version, execution_id, host_id, stop_timeout_ms, stopped_idle, health_check, check_version, health, restart_policy,
  restart_max_retries, retries, host_lost, rollback_to, reason, attempts,
  ${isClaimed()} as claimed, egress_applied <> egress_version as egress_due,
  ${isPostponed} as waiting, started_at is not null as has_run,
  forked_by is not null and started_at is null as is_unfinished_fork,
  status = 'running' and started_at <= now() - ${HEALTHY_AFTER_S} * interval '1 second' as ran_well,
  exists (select 1 from restarts where machine_id = machines.id) as queued,
  ceil(extract(epoch from case
    when status in ('creating', 'starting', 'stopping') and ${isClaimed()} then claimed_until
    when ${isPostponed} and (status in ('destroying', 'stopping') or status = 'running' and egress_applied <> egress_version)
      then retry_at
  end - ${steadyNow}) * 1000)::double precision as due_in_ms`;

/** Bound of one comparison. A host with more machines than this would need another design first. */
const FACTS_MAX = 20_000;

/** Every machine that should have a VM on this host, that should lose it, or that should get one again. */
export async function machinesOnHost(db: Database, hostId: string): Promise<MachineFact[]> {
  const { rows } = await sql<MachineFact>`
    select ${FACTS} from machines
    where host_id = ${hostId} and status <> 'destroyed'
      and (status in ('creating', 'starting', 'running', 'stopping', 'destroying')
        or (status = 'stopped' and restart_wished) or (status = 'failed' and host_lost))
    order by retry_at limit ${FACTS_MAX}`.execute(db);
  return rows;
}

export async function machineFacts(db: Database, ids: readonly string[]): Promise<MachineFact[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<MachineFact>`
    select ${FACTS} from machines where id = any(${ids}::text[])`.execute(db);
  return rows;
}
