// Moves under way, and the one statement by which a VM changes its host.

import { sql, type Selectable } from "kysely";
import type { Egress } from "@skerry/contract/vms/egress";
import { newId } from "@skerry/contract/ids";
import { canMoveProceed, moveStatusesUnderWay, type MoveStatus } from "@skerry/contract/moves/move-status";
import type { HostCompatibility } from "@skerry/contract/moves/host-compatibility";
import { backoff } from "../db/backoff.ts";
import type { Queries, Tables } from "../db/database.ts";
import { isAhead, SET_BACK } from "../db/clock-set-back.ts";
import { saidBy, withFailure, withoutFailure } from "../db/host-failure.ts";
import { daysAgo } from "../db/steady-time.ts";
import { isOfHost } from "../host-client/host-errors.ts";

export type MoveRow = Selectable<Tables["moves"]>;

/** Whether it moves a saved guest: that takes no room, and a VM that runs always takes some. */
export function isOfSaved({ memory_mib }: Pick<MoveRow, "memory_mib">): boolean {
  return memory_mib === 0;
}

/** A sandbox or a machine, as far as a move is concerned. */
export interface MovableVm {
  readonly id: string;
  readonly org_id: string;
  readonly status: string;
  readonly host_id: string;
  readonly execution_id: string;
  /** Name of a built-in one, id of another. */
  readonly template: string;
  readonly size: string;
  readonly vcpus: number;
  readonly memory_mib: number;
  readonly disk_gib: number;
  readonly egress: Egress;
  readonly egress_version: number;
}

/** A host that VMs should leave. */
export interface DrainingHost {
  readonly id: string;
  readonly waits_for: string | null;
  readonly compatibility: Partial<HostCompatibility>;
}

const COLUMNS = sql`id, org_id, status, host_id, execution_id, template, size, vcpus, memory_mib, disk_gib, egress, egress_version`;
const underWay = sql`status in (${sql.join(moveStatusesUnderWay)})`;
/** Longest pause between two attempts at a stuck move, in seconds. */
const RETRY_MAX_S = 30;
/** Attempts at a step behind the decision, or behind its giving up: about a minute and a half. A host that is
 *  away is none of them. */
export const TRIES_MAX = 8;
/** What could not take a VM is not asked again for so long, times how often it could not lately. The cause of a failure is not known for sure. */
const FAILED_FOR_S = 5;
const FAILED_FOR_MAX_S = 60;

export async function findVm(db: Queries, id: string): Promise<MovableVm | undefined> {
  const { rows } = await sql<MovableVm>`select ${COLUMNS} from vms where id = ${id}`.execute(db);
  return rows[0];
}

/**
 * Those that run on this host and are not on their way yet, oldest first. Instances of apps are replaced on
 * other hosts, so that no connection of theirs is cut.
 */
export async function movableVms(db: Queries, hostId: string, limit: number): Promise<MovableVm[]> {
  const { rows } = await sql<MovableVm>`
    select ${COLUMNS} from vms
    where host_id = ${hostId} and status = 'running' and owner_kind is distinct from 'app' and not exists (
      select 1 from moves where vm_id = vms.id and ${underWay}
    )
    order by id limit ${limit}`.execute(db);
  return rows;
}

export async function drainingHosts(db: Queries): Promise<DrainingHost[]> {
  const { rows } = await sql<DrainingHost>`
    select id, waits_for, facts as compatibility from hosts where status = 'draining' order by id`.execute(
    db,
  );
  return rows;
}

/** What VMs on these hosts would go on with. */
export async function compatibilitiesOf(
  db: Queries,
  hostIds: readonly string[],
): Promise<Map<string, Partial<HostCompatibility>>> {
  const { rows } = await sql<{ id: string; facts: Partial<HostCompatibility> }>`
    select id, facts from hosts where id = any(${hostIds}::text[])`.execute(db);
  return new Map(rows.map(({ id, facts }) => [id, facts]));
}

/** Hosts that this VM could not be moved to a short time ago, and why. */
export async function recentFailures(db: Queries, vmId: string): Promise<Map<string, string>> {
  const { rows } = await sql<{ to_host_id: string; reason: string | null }>`
    select to_host_id, (array_agg(reason order by status_since desc))[1] as reason
    from moves
    where vm_id = ${vmId} and status = 'failed'
      and status_since between now() - interval '5 minutes' and now() + ${SET_BACK}
    group by to_host_id
    having max(status_since) > now() - least(count(*) * ${FAILED_FOR_S}, ${FAILED_FOR_MAX_S}) * interval '1 second'`.execute(
    db,
  );
  return new Map(rows.map(({ to_host_id, reason }) => [to_host_id, reason ?? "for no known reason"]));
}

/** Undefined where the VM has ended or is on its way already. */
export async function insertMove(
  db: Queries,
  vm: MovableVm,
  { toHostId, ticket }: { readonly toHostId: string; readonly ticket: string },
): Promise<MoveRow | undefined> {
  const { rows } = await sql<MoveRow>`
    insert into moves (id, vm_id, from_host_id, to_host_id, from_execution_id, to_execution_id, ticket, vcpus, memory_mib, status)
    select ${newId("move")}, id, host_id, ${toHostId}, execution_id, ${newId("incarnation")}, ${ticket}, vcpus, memory_mib, 'preparing'
    from vms
    where id = ${vm.id} and status = 'running' and host_id = ${vm.host_id} and execution_id = ${vm.execution_id}
      -- The operator may have changed his mind.
      and exists (select 1 from hosts where id = ${vm.host_id} and status = 'draining')
    on conflict do nothing
    returning *`.execute(db);
  return rows[0];
}

/** Those that are due now, and that are not `inHand` yet. */
export async function dueMoves(db: Queries, inHand: readonly string[]): Promise<MoveRow[]> {
  const { rows } = await sql<MoveRow>`
    select * from moves where ${underWay} and not ${isAhead("retry_at", RETRY_MAX_S * 1_000)} and id <> all(${inHand}::text[]) order by id`.execute(
    db,
  );
  return rows;
}

export async function findMove(db: Queries, id: string): Promise<MoveRow | undefined> {
  const { rows } = await sql<MoveRow>`select * from moves where id = ${id}`.execute(db);
  return rows[0];
}

/** Why it should not get to its target any more; undefined where it should. */
export async function whyUnwanted(db: Queries, id: string): Promise<string | undefined> {
  const { rows } = await sql<{ why: string | null }>`
    select case
      when status not in ('preparing', 'sending') then 'it was called back'
      when exists (
        select 1 from hosts where id in (from_host_id, to_host_id) and (status = 'offline' or removed_at is not null)
      ) then 'a host of the move is offline'
    end as why
    from moves where id = ${id}`.execute(db);
  return rows.map(({ why }) => why ?? undefined)[0];
}

/** Those that wait for a host that does not answer do not keep others from moving. */
export async function countMovesFrom(db: Queries, hostId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from moves
    where ${underWay} and from_host_id = ${hostId} and attempts = 0`.execute(db);
  return rows[0]?.count ?? 0;
}

/** Why a move goes where it goes. */
interface Why {
  readonly reason?: string;
  /** The error of a host that does not do what the step needs and is asked no more. */
  readonly hostSays?: string;
}

/** Undefined when another writer got there first. */
export async function proceed(
  db: Queries,
  seen: Pick<MoveRow, "id" | "status" | "version">,
  to: MoveStatus,
  { reason, hostSays }: Why = {},
): Promise<MoveRow | undefined> {
  if (!canMoveProceed(seen.status, to)) throw new Error(`a move cannot go from ${seen.status} to ${to}`);
  const { rows } = await sql<MoveRow>`
    update moves set
      status = ${to}, version = version + 1, status_since = now(), attempts = 0, retry_at = now(),
      reason = ${hostSays === undefined ? sql`coalesce(${withoutFailure}, ${reason ?? null})` : withFailure(hostSays)},
      -- The streams that it admits have ended.
      ticket = case when ${to} in ('done', 'canceled', 'failed') then '' else ticket end
    where id = ${seen.id} and version = ${seen.version} and status = ${seen.status}
    returning *`.execute(db);
  return rows[0];
}

/** The decision: from here on the VM is the target's. Undefined where it is not running at its source any more, or where the target is lost or
 *  removed; no other transaction can change that before this one ends. The target loads the policy of the row before it lets the guest run, so it
 *  counts as applied. */
export async function switchHost(db: Queries, move: MoveRow): Promise<MovableVm | undefined> {
  const { rows } = await sql<MovableVm>`
    with target as materialized (
      select id as target_id from hosts
      where id = ${move.to_host_id} and status <> 'offline' and removed_at is null for share
    )
    update vms set
      host_id = target_id, execution_id = ${move.to_execution_id}, version = version + 1,
      egress_applied = egress_version
    from target
    where id = ${move.vm_id} and status = 'running'
      and host_id = ${move.from_host_id} and execution_id = ${move.from_execution_id}
    returning ${COLUMNS}`.execute(db);
  return rows[0];
}

/** Those that have not been decided about stay where they are. */
export async function cancelMovesFrom(db: Queries, hostId: string, reason: string): Promise<number> {
  const { numAffectedRows } = await sql`
    update moves set
      status = 'canceling', version = version + 1, status_since = now(), attempts = 0, retry_at = now(),
      reason = coalesce(reason, ${reason})
    where from_host_id = ${hostId} and status in ('preparing', 'sending')`.execute(db);
  return Number(numAffectedRows ?? 0);
}

/** After an attempt that failed: the next one comes after 1, 2, 4 … 30 s. A host that does not answer never
 *  makes it the last one. */
export async function postponeMove(db: Queries, { id, status }: MoveRow, error: unknown): Promise<void> {
  const attempts = isOfHost(error)
    ? sql<number>`attempts + 1`
    : sql<number>`greatest(attempts, least(attempts + 1, ${TRIES_MAX - 2}::integer))`;
  await sql`
    update moves set
      attempts = ${attempts},
      retry_at = now() + ${backoff(sql`attempts`, RETRY_MAX_S)},
      reason = ${isOfHost(error) ? withFailure(saidBy(error)) : sql`reason`}
    where id = ${id} and status = ${status}`.execute(db);
}

/** It stands still for good: it has failed. What is left of it at either host is for VM cleanup. Undefined
 *  where it is another life by now, or is to end. */
export async function loseVm(
  db: Queries,
  { id, execution_id }: Pick<MovableVm, "id" | "execution_id">,
  reason: string,
): Promise<MovableVm | undefined> {
  const { rows } = await sql<MovableVm>`
    update vms set
      status = 'failed', version = version + 1, reason = ${reason}, attempts = 0, retry_at = now(), next_event = null,
      -- A sandbox that has failed gives its name up; a machine can be started again.
      unique_name = case kind when 'machine' then unique_name end,
      stopped_at = case kind when 'machine' then now() end
    where id = ${id} and execution_id = ${execution_id} and status = 'running'
    returning ${COLUMNS}`.execute(db);
  return rows[0];
}

/** Forgets what ended a day ago. */
export async function sweepMoves(db: Queries, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from moves where id in (
      select id from moves where status in ('done', 'canceled', 'failed') and status_since < ${daysAgo(1)}
      limit ${limit}
    )`.execute(db);
  return Number(numAffectedRows ?? 0);
}
