// Rows of the log of VMs' lives. What becomes of a status is written by triggers (db/migrations/0025-vm-events.ts); here is what no row tells.

import { sql, type Selectable } from "kysely";
import type { VmEventKind } from "@skerry/contract/vms/events";
import type { Queries, Tables } from "../../db/database.ts";

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
  readonly kind: VmEventKind & ("denied" | "out_of_memory");
  readonly reason: string;
  /** When the last of them was; null for now. */
  readonly lastAt: string | null;
  /** `all`: since the first of them. `more`: beside those that are told already. */
  readonly count: { readonly all: number } | { readonly more: number };
}

/** Rows of VMs that do not exist tell nothing. */
export async function tellRecurring(
  db: Queries,
  { id, table }: { readonly id: string; readonly table: "sandboxes" | "machines" },
  event: Recurring,
): Promise<void> {
  const { kind, reason, lastAt, count } = event;
  const [all, more] = "all" in count ? [count.all, 0] : [0, count.more];
  await sql`
    with last as (select coalesce(${lastAt}::timestamptz, now()) as at),
    known as (
      select id from vm_events
      where vm_id = ${id} and kind = ${kind} and reason = ${reason} and at > (select at from last) - interval '1 hour'
      order by id desc limit 1
    ),
    counted as (
      update vm_events set count = greatest(count + ${more}::bigint, ${all}::bigint), last_at = greatest(last_at, (select at from last))
      where id = (select id from known) and (${more}::bigint > 0 or ${all}::bigint > count)
    )
    select tell_vm_event(org_id, id, ${kind}, ${reason}, (select at from last), ${all + more}::bigint)
    from ${sql.table(table)}
    where id = ${id} and not exists (select from known)`.execute(db);
}

/** How long the log of a VM is kept after its end. */
const KEPT_DAYS = 30;

/** Forgets up to `limit` of them, each with its whole log. */
export async function sweepVmEvents(db: Queries, limit: number): Promise<number> {
  const { rows } = await sql<{ vms: string }>`
    with ended as (
      select vm_id from vm_events
      where kind = 'destroyed' and at < now() - ${KEPT_DAYS} * interval '1 day' order by at limit ${limit}
    ),
    forgotten as (delete from vm_events where vm_id in (select vm_id from ended))
    select count(*) as vms from ended`.execute(db);
  return Number(rows[0]?.vms ?? 0);
}
