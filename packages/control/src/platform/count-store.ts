// Counts for status and metrics. Each is read from an index alone, and none grows with the sandboxes that are destroyed.

import { sql, type Selectable } from "kysely";
import { countedStatuses } from "@skerry/contract/counts";
import type { HostStatus } from "@skerry/contract/hosts/host-status";
import { machineStatuses } from "@skerry/contract/machines/machine-status";
import { sandboxStatuses, type SandboxStatus } from "@skerry/contract/sandboxes/sandbox-status";
import type { Queries, Tables } from "../db/database.ts";
import { steadyNow } from "../db/steady-time.ts";
import { isOnHost } from "../db/vm-rows.ts";
import { isOverdue } from "../hosts/host-rows.ts";
import { isInCrashLoop, isUnhealthy } from "../vms/vm-filter.ts";
import { isExpired } from "../sandboxes/sandbox-facts.ts";

type HostRow = Selectable<Tables["hosts"]>;

/** All but the one in which nothing is left to count. */
export const countedVmStatuses = {
  sandbox: countedStatuses(sandboxStatuses),
  machine: countedStatuses(machineStatuses),
} as const;

export interface VmLoad {
  readonly kind: keyof typeof countedVmStatuses;
  readonly host_id: string;
  readonly status: string;
  readonly vms: number;
  /** Whether they hold memory and CPUs of the host. */
  readonly on_host: boolean;
  readonly memory_mib: number;
  readonly vcpus: number;
}

export async function vmLoads(db: Queries): Promise<VmLoad[]> {
  const { rows } = await sql<VmLoad>`
    select kind, host_id, status, count(*)::integer as vms, ${isOnHost} as on_host,
           sum(memory_mib)::integer as memory_mib, sum(vcpus)::integer as vcpus
    from vms where status <> 'destroyed' group by kind, host_id, status`.execute(db);
  return rows;
}

/** Those that are not destroyed. */
export async function machineCount(db: Queries, orgId: string): Promise<number> {
  const { rows } = await sql<{ machines: number }>`
    select count(*)::integer as machines from machines
    where org_id = ${orgId} and status <> 'destroyed'`.execute(db);
  return rows[0]?.machines ?? 0;
}

export async function sandboxCounts(
  db: Queries,
  orgId: string,
): Promise<{ status: SandboxStatus; sandboxes: number }[]> {
  const { rows } = await sql<{ status: SandboxStatus; sandboxes: number }>`
    select status, count(*)::integer as sandboxes
    from sandboxes where org_id = ${orgId} and status <> 'destroyed' group by status`.execute(db);
  return rows;
}

export interface OrganizationLoad {
  /** Its id, or `other`. */
  readonly organization: string;
  readonly sandboxes: number;
  readonly machines: number;
  readonly vcpus: number;
  readonly memory_mib: number;
  readonly disk_gib: number;
}

/** What organizations hold: the `limit` with the most memory, then the most disk, and all others together. None that holds nothing. */
export async function organizationLoads(db: Queries, limit: number): Promise<OrganizationLoad[]> {
  const { rows } = await sql<OrganizationLoad>`
    with held as (
      select account, sum(sandboxes) as sandboxes, sum(machines) as machines, sum(vcpus) as vcpus,
             sum(memory_mib) as memory_mib, sum(disk_gib) as disk_gib
      from capacity_entries join organizations on organizations.id = account
      group by account having sum(sandboxes) + sum(machines) > 0
    ), ranked as (
      select *, row_number() over (order by memory_mib desc, disk_gib desc, account) as rank from held
    )
    select case when rank <= ${limit} then account else 'other' end as organization,
           sum(sandboxes)::double precision as sandboxes, sum(machines)::double precision as machines,
           sum(vcpus)::double precision as vcpus, sum(memory_mib)::double precision as memory_mib,
           sum(disk_gib)::double precision as disk_gib
    from ranked group by 1 order by 1`.execute(db);
  return rows;
}

/** Work that has not begun. */
export async function waitingWork(db: Queries): Promise<Waiting> {
  const { rows } = await sql<Waiting>`
    select
      (select count(*) from sandboxes
       where ${isExpired} or expires_at < ${steadyNow} and status = 'running' and mode = 'persistent')::integer as expire,
      (select count(*) from vms where status = 'running' and egress_applied <> egress_version)::integer as egress,
      (select count(*) from restarts)::integer as restart,
      (select count(*) from builds where finished_at is null and waits_for is not null)::integer as build`.execute(
    db,
  );
  return rows[0] ?? { expire: 0, egress: 0, restart: 0, build: 0 };
}

export interface MachineTroubles {
  readonly looping: number;
  readonly unhealthy: number;
}

export async function machineTroubles(db: Queries): Promise<MachineTroubles> {
  const { rows } = await sql<MachineTroubles>`
    select count(*) filter (where ${isInCrashLoop})::integer as looping,
      count(*) filter (where ${isUnhealthy})::integer as unhealthy
    from machines where status <> 'destroyed'`.execute(db);
  return rows[0] ?? { looping: 0, unhealthy: 0 };
}

export const countedTemplateStatuses = {
  built_in: ["ready", "on_demand", "building", "failed"],
  own: ["ready", "deleting"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export interface TemplateCount {
  readonly origin: keyof typeof countedTemplateStatuses;
  readonly status: string;
  readonly templates: number;
}

/** A host says what is built in there. */
export async function templateCounts(db: Queries): Promise<TemplateCount[]> {
  const { rows } = await sql<TemplateCount>`
    select 'built_in'::text as origin, told ->> 'status' as status, count(*)::integer as templates
    from hosts cross join jsonb_array_elements(hosts.templates) told where removed_at is null group by 2
    union all
    select 'own', status, count(*)::integer from templates where status <> 'deleted' group by status`.execute(
    db,
  );
  return rows;
}

export interface StoredLayers {
  readonly status: "storing" | "ready" | "deleting";
  readonly layers: number;
  readonly bytes: number;
}

/** What the object store has, and what it is to have and to lose. */
export async function storedLayers(db: Queries): Promise<StoredLayers[]> {
  const { rows } = await sql<StoredLayers>`
    select status, count(*)::integer as layers, sum(bytes)::float8 as bytes from stored_layers group by status`.execute(
    db,
  );
  return rows;
}

interface Waiting {
  readonly expire: number;
  readonly egress: number;
  readonly restart: number;
  readonly build: number;
}

export interface HostFigures extends Pick<
  HostRow,
  "id" | "name" | "cpus" | "memory_mib" | "usage" | "certificate_expires_at"
> {
  readonly status: HostStatus;
  readonly last_heartbeat: Date;
}

/** A host that was silent for too long is offline, also where its row says otherwise. */
export async function hostFigures(db: Queries): Promise<HostFigures[]> {
  const { rows } = await sql<HostFigures>`
    select id, name, cpus, memory_mib, usage, last_heartbeat, certificate_expires_at,
           case when status = 'online' and ${isOverdue()} then 'offline' else status end as status
    from hosts where removed_at is null order by name`.execute(db);
  return rows;
}
