// The end of a host that is not heard of any more, and of what ran on it.

import { sql } from "kysely";
import { HEALTHY_AFTER_S, type RestartDisk } from "@skerry/contract/machines/machine-status";
import type { Queries } from "../db/database.ts";
import { isClaimed } from "../db/claims.ts";
import { isOverdue } from "./host-rows.ts";
import type { EndedMachine } from "../values/restart-policy.ts";

/** A host counts as silent only where it was asked in vain at least twice, which is a period apart, and lately. Where control or the database
 *  was away no host was asked, so no host was silent. */
const ASKED_IN_VAIN_FOR_S = 5;
const ASKED_LATELY_S = 25;

export interface Loss {
  readonly kind: "host" | "sandbox";
  readonly id: string;
  /** Null for a host. */
  readonly org_id: string | null;
  readonly name: string;
}

export interface LostMachine extends EndedMachine {
  readonly kind: "machine";
  readonly id: string;
  readonly org_id: string;
  /** Of its host. */
  readonly name: string;
  readonly restart_disk: RestartDisk;
}

/**
 * Marks hosts offline that were silent for 30 s, with what ran on them, all in one statement: sandboxes are unreachable, machines have failed.
 * What a request left half done on a host that is offline has failed too, once the request's claim has lapsed: the host cannot be asked about
 * it. What becomes of the machines is for their policy to say.
 */
export async function markOffline(db: Queries): Promise<(Loss | LostMachine)[]> {
  const { rows } = await sql<Loss | LostMachine>`
    with silent as (
      update hosts set status = 'offline', version = version + 1, status_since = now(), waits_for = null
      where status in ('online', 'draining') and removed_at is null
        and ${isOverdue()}
        and silent_until > now() - ${ASKED_LATELY_S} * interval '1 second'
        and silent_until - silent_since >= ${ASKED_IN_VAIN_FOR_S} * interval '1 second'
      returning id, name
    ), gone as (
      select id, name, true as now from silent
      union all
      select id, name, false from hosts where status = 'offline'
    ), lost_sandboxes as (
      update sandboxes set
        status = case when status = 'creating' then 'failed' else 'unreachable' end, version = version + 1,
        -- As with every other failure: what was never usable gives its name up.
        unique_name = case when status <> 'creating' then unique_name end,
        claimed_until = null, attempts = 0, retry_at = now(),
        reason = coalesce(reason, 'host_offline: its host ' || gone.name || ' is offline')
      from gone
      where sandboxes.host_id = gone.id
        and (status in ('running', 'paused')
             or status in ('creating', 'pausing', 'resuming') and (gone.now or not ${isClaimed("sandboxes")}))
      returning sandboxes.id, org_id, gone.name
    ), dying_machines as (
      select machines.id, machines.status, gone.name,
        machines.status = 'running' and started_at <= now() - ${HEALTHY_AFTER_S} * interval '1 second' as ran_well
      from machines join gone on machines.host_id = gone.id
      where machines.status in ('running', 'stopping')
        or machines.status in ('creating', 'starting') and (gone.now or not ${isClaimed("machines")})
      for no key update of machines
    ), lost_machines as (
      update machines set
        status = 'failed', version = version + 1, host_lost = dying.status <> 'creating', claimed_until = null,
        attempts = 0, retry_at = now(), stopped_at = now(),
        unique_name = case when started_at is not null then unique_name end,
        reason = 'host_offline: its host ' || dying.name || ' is offline'
      from dying_machines dying where machines.id = dying.id
      returning machines.id, org_id, dying.name, desired, restart_policy, restart_max_retries, restart_disk, retries,
                dying.ran_well, started_at is not null as has_run
    )
    select 'machine' as kind, * from lost_machines
    union all select 'host', id, null, name, ${noMachine} from silent
    union all select 'sandbox', id, org_id, name, ${noMachine} from lost_sandboxes`.execute(db);
  return rows;
}

/** What the policy of a machine makes of its loss. */
export interface LostMachineStep {
  readonly id: string;
  readonly retries: number;
  /** What its owner should know beside the reason. */
  readonly note: string;
  /** Until its next start; null where there is none. */
  readonly delayMs: number | null;
}

/** In the transaction that has marked them. */
export async function writeSteps(db: Queries, steps: readonly LostMachineStep[]): Promise<void> {
  if (steps.length === 0) return;
  const column = <Name extends keyof LostMachineStep>(name: Name) => steps.map((step) => step[name]);
  await sql`
    with steps as (
      select * from unnest(${column("id")}::text[], ${column("retries")}::integer[], ${column("note")}::text[],
                           ${column("delayMs")}::double precision[]) as steps (id, retries, note, delay_ms)
    ), noted as (
      update machines set retries = steps.retries, reason = reason || steps.note from steps where machines.id = steps.id
      returning machines.id, reason, steps.delay_ms
    ), ended as (
      -- One that waits for its host may run on when it is back.
      insert into machine_ends (id, machine_id, cause, reason)
      select new_event_id(clock_timestamp()), id, 'host_lost', reason from noted where delay_ms is not null
    )
    insert into restarts (machine_id, due_at)
    select id, now() + delay_ms * interval '1 millisecond' from steps where delay_ms is not null
    on conflict (machine_id) do nothing`.execute(db);
}

/** Rows of different kinds have the same columns. */
const noMachine = sql`null, null, null::integer, null, null::integer, null::boolean, null::boolean`;
