// Machines whose host is not heard of any more, and what becomes of them by their policies.

import { sql } from "kysely";
import { HEALTHY_AFTER_S, type RestartDisk } from "@skerry/contract/machines/machine-status";
import { recordOwnActs } from "../audit/audit-log.ts";
import type { Losses, LostHosts } from "../context.ts";
import { isClaimed } from "../db/claims.ts";
import type { Queries } from "../db/database.ts";
import { lostHosts } from "../hosts/lost-hosts.ts";
import { applyRestartPolicy, giveUpReason, type EndedMachine } from "./restart-policy.ts";

interface LostMachine extends EndedMachine {
  readonly id: string;
  readonly org_id: string;
  readonly restart_disk: RestartDisk;
}

/** Fails machines, and what a request has left half done once its claim has lapsed. Their policies say what follows. */
export async function loseMachines(transaction: Queries, { hosts, service }: LostHosts): Promise<Losses> {
  const { rows } = await sql<LostMachine>`
    with dying as (
      select machines.id, machines.status, lost.name,
        machines.status = 'running' and started_at <= now() - ${HEALTHY_AFTER_S} * interval '1 second' as ran_well
      from machines join ${lostHosts(hosts)} on machines.host_id = lost.id
      where machines.status in ('running', 'stopping')
        or machines.status in ('creating', 'starting') and (lost.is_new or not ${isClaimed("machines")})
      for no key update of machines
    )
    update machines set
      status = 'failed', version = version + 1, host_lost = dying.status <> 'creating', claimed_until = null,
      attempts = 0, retry_at = now(), stopped_at = now(),
      unique_name = case when started_at is not null then unique_name end,
      reason = 'host_offline: its host ' || dying.name || ' is offline'
    from dying where machines.id = dying.id
    returning machines.id, org_id, desired, restart_policy, restart_max_retries, restart_disk, retries,
              dying.ran_well, started_at is not null as has_run`.execute(transaction);
  await writeSteps(transaction, rows.map(stepOf));
  await recordOwnActs(transaction, { service, action: "machine.end", resource: "machine" }, rows);
  return {
    vms: rows.length,
    tell: ({ metrics, wake }) => {
      if (rows.length === 0) return;
      metrics.machineEnds.add(rows.length, "host_lost");
      wake("restart-manager");
    },
  };
}

/** A machine whose disk matters waits for its host, however its policy has it. */
function stepOf(machine: LostMachine): LostMachineStep {
  const { id, retries } = machine;
  const step = applyRestartPolicy(machine, false, Math.random());
  if (step.kind === "rest") return { id, retries, note: "", delayMs: null };
  if (step.kind === "give_up")
    return { id, retries: step.retries, note: `; ${giveUpReason(step.retries)}`, delayMs: null };
  return machine.restart_disk === "disposable"
    ? { id, retries: step.retries, note: "", delayMs: step.delayMs }
    : { id, retries, note: "; it waits for the host, which has its disk", delayMs: null };
}

/** What the policy of a machine makes of its loss. */
interface LostMachineStep {
  readonly id: string;
  readonly retries: number;
  /** What its owner should know beside the reason. */
  readonly note: string;
  /** Until its next start; null where there is none. */
  readonly delayMs: number | null;
}

async function writeSteps(db: Queries, steps: readonly LostMachineStep[]): Promise<void> {
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
