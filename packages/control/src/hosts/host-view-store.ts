// Hosts with what is taken of them, as their operator sees them, and the state that the operator wants.

import { sql, type Selectable } from "kysely";
import { moveStatusesOnTarget } from "@skerry/contract/moves/move-status";
import { canHostTransition, type HostStatus, type HostDesired } from "@skerry/contract/hosts/host-status";
import type { Database, Queries, Tables } from "../db/database.ts";
import { isOnHost } from "../db/vm-rows.ts";

export interface HostView extends Selectable<Tables["hosts"]> {
  readonly heartbeat_age_s: number;
  readonly used_vcpus: number;
  readonly used_memory_mib: number;
  readonly vms: number;
  /** Sandboxes whose files it keeps, and that hold nothing else. */
  readonly paused: number;
  /** Those that organizations have built and that no other host has. */
  readonly only_templates: number;
  /** What it could be reached by is trusted no more, or has ended. */
  readonly left_behind: boolean;
}

/** Newest first. */
export function listHostViews(db: Database, before: string | undefined, limit: number): Promise<HostView[]> {
  return hostViews(db, sql`${before ?? null}::text is null or id < ${before ?? null}`, limit);
}

export async function findHostView(db: Queries, id: string): Promise<HostView | undefined> {
  return (await hostViews(db, sql`id = ${id}`, 1))[0];
}

export function hostViewsOfIds(db: Queries, ids: readonly string[]): Promise<HostView[]> {
  return hostViews(db, sql`id = any(${ids}::text[])`, ids.length);
}

async function hostViews(db: Queries, which: ReturnType<typeof sql>, limit: number): Promise<HostView[]> {
  const { rows } = await sql<HostView>`
    select h.*, greatest(0, extract(epoch from now() - h.last_heartbeat))::double precision as heartbeat_age_s,
      coalesce(used.vcpus, 0)::integer as used_vcpus, coalesce(used.memory_mib, 0)::integer as used_memory_mib,
      coalesce(used.vms, 0)::integer as vms,
      (select count(*) from vms where host_id = h.id and status = 'paused')::integer as paused,
      ${templatesOnlyOn("h.id")} as only_templates,
      h.joined and (h.certificate_expires_at <= now()
        or not exists (select 1 from authority a where a.number = h.certified_by)
        or not exists (select 1 from authority a where a.status = 'current' and a.number = any(h.trusts))) as left_behind
    from (select * from hosts where removed_at is null and (${which}) order by id desc limit ${limit}) h
    cross join lateral (
      select sum(vcpus) as vcpus, sum(memory_mib) as memory_mib, count(*) as vms from ${vmsOf("h.id")} as vms
    ) used
    order by h.id desc`.execute(db);
  return rows;
}

/** What holds room on a host. A VM on its way there holds it already. */
export function vmsOf(host: string) {
  const id = sql.ref(host);
  return sql`(
    select vcpus, memory_mib from vms where host_id = ${id} and status <> 'destroyed' and ${isOnHost}
    union all
    select vcpus, memory_mib from moves where to_host_id = ${id} and status in (${sql.join(moveStatusesOnTarget)})
  )`;
}

/** How many templates organizations have built that can be used on this host alone. */
export function templatesOnlyOn(host: string) {
  const id = sql.ref(host);
  return sql`(
    select count(*)::integer from template_hosts there join templates on templates.id = there.template_id
    where there.host_id = ${id} and templates.status = 'ready' and not exists (
      select 1 from template_hosts elsewhere join hosts other on other.id = elsewhere.host_id
      where elsewhere.template_id = there.template_id and other.id <> ${id} and other.removed_at is null
    )
  )`;
}

/** Templates on a host that is drained which no host that takes VMs has, where there is one that has not failed to take them a short time ago. */
export function templatesThatCanLeave(host: string) {
  const id = sql.ref(host);
  const takesVms = sql`other.id <> ${id} and other.removed_at is null and other.status = 'online' and other.desired = 'active'`;
  return sql`
    select 1 from template_hosts there join templates on templates.id = there.template_id
    where there.host_id = ${id} and templates.status = 'ready' and not exists (
      select 1 from template_hosts elsewhere join hosts other on other.id = elsewhere.host_id
      where elsewhere.template_id = there.template_id and ${takesVms}
    ) and exists (
      select 1 from hosts other where ${takesVms} and not exists (
        select 1 from template_copies failed
        where failed.template_id = there.template_id and failed.host_id = other.id
          and failed.status = 'failed' and failed.due_at > now()
      )
    )`;
}

export interface HostChange {
  readonly desired: HostDesired;
  readonly status: HostStatus;
}

/** Changes exactly what the caller saw; false where another writer was first. */
export async function changeHost(
  db: Queries,
  seen: Pick<HostView, "id" | "version" | "status">,
  { desired, status }: HostChange,
): Promise<boolean> {
  if (status !== seen.status && !canHostTransition(seen.status, status)) {
    throw new Error(`a host cannot move from ${seen.status} to ${status}`);
  }
  const { rows } = await sql`
    update hosts set
      desired = ${desired}, status = ${status}, version = version + 1, waits_for = null,
      status_since = case when status = ${status} then status_since else now() end
    where id = ${seen.id} and version = ${seen.version} and removed_at is null
    returning 1`.execute(db);
  return rows.length > 0;
}
