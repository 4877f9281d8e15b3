// Rows of the log of VMs' lives. What becomes of a status is written by triggers (db/migrations/0025-vm-events.ts); here is what no row tells.

import { sql, type Selectable } from "kysely";
import type { VmEventKind } from "@skerry/contract/vms/events";
import type { Queries, Tables } from "../../db/database.ts";
import { daysAgo } from "../../db/steady-time.ts";

export type VmEventRow = Selectable<Tables["vm_events"]>;

export interface EventFilter {
  readonly orgId: string;
  readonly vmId: string;
  readonly before: string | undefined;
  readonly limit: number;
}

/** Newest first. */
export async function listVmEvents(
  db: Queries,
  { orgId, vmId, before, limit }: EventFilter,
): Promise<VmEventRow[]> {
  const { rows } = await sql<VmEventRow>`
    select * from vm_events
    where vm_id = ${vmId} and org_id = ${orgId} and (${before ?? null}::text is null or id < ${before ?? null})
    order by id desc limit ${limit}`.execute(db);
  return rows;
}

/** Something that comes again and again. Within the hour after the first of equal ones they are one event. */
export interface Recurring {
  readonly kind: VmEventKind & ("denied" | "injected" | "out_of_memory");
  readonly reason: string;
  /** When the last of them was; null for now. */
  readonly lastAt: string | null;
  /** `all`: since the first of them. `more`: beside those that are told already. */
  readonly count: { readonly all: number } | { readonly more: number };
}

/** In their order, in one statement. No two of them are equal. Rows of VMs that do not exist tell nothing. */
export async function tellRecurring(db: Queries, id: string, events: readonly Recurring[]): Promise<void> {
  const all = events.map(({ count }) => ("all" in count ? count.all : 0));
  const more = events.map(({ count }) => ("all" in count ? 0 : count.more));
  // Counting comes first: adding one may delete old ones, of which a statement could change none any more.
  await sql`
    with given as (
      select place, kind, reason, coalesce(at, now()) as at, every, more
      from unnest(
        ${events.map(({ kind }) => kind)}::text[], ${events.map(({ reason }) => reason)}::text[],
        ${events.map(({ lastAt }) => lastAt)}::timestamptz[], ${all}::bigint[], ${more}::bigint[]
      ) with ordinality as given (kind, reason, at, every, more, place)
    ),
    known as (
      select distinct on (place) given.*, vm_events.id
      from given join vm_events on vm_id = ${id} and vm_events.kind = given.kind and vm_events.reason = given.reason
        and vm_events.at > given.at - interval '1 hour'
      order by place, vm_events.id desc
    ),
    counted as (
      update vm_events set
        count = greatest(vm_events.count + known.more, known.every),
        last_at = greatest(vm_events.last_at, known.at)
      from known
      where vm_events.id = known.id and (known.more > 0 or known.every > vm_events.count)
      returning 1
    )
    select tell_vm_event(vm.org_id, vm.id, given.kind, given.reason, given.at, given.every + given.more)
    from given, vms as vm
    where vm.id = ${id} and (select count(*) from counted) >= 0 and given.place not in (select known.place from known)
    order by given.place`.execute(db);
}

/** How long the log of a VM is kept after its end. */
const KEPT_DAYS = 30;

/** Forgets up to `limit` of them, each with its whole log. */
export async function sweepVmEvents(db: Queries, limit: number): Promise<number> {
  const { rows } = await sql<{ vms: string }>`
    with ended as (
      select vm_id from vm_events
      where kind = 'destroyed' and at < ${daysAgo(KEPT_DAYS)} order by at limit ${limit}
    ),
    forgotten as (delete from vm_events where vm_id in (select vm_id from ended))
    select count(*) as vms from ended`.execute(db);
  return Number(rows[0]?.vms ?? 0);
}
