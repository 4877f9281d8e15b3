// What is free on hosts, and what an organization holds: what a VM that is to be placed depends on.

import { sql } from "kysely";
import type { Egress } from "@skerry/contract/egress";
import { HOST_OFFLINE_AFTER_S } from "@skerry/contract/host-states";
import { machineStatusesOnHost } from "@skerry/contract/machine-states";
import { moveStatusesOnTarget } from "@skerry/contract/move-states";
import type { Template } from "@skerry/contract/platform";
import { LIMIT_MAX, type LimitName, type QuotaName } from "@skerry/contract/quotas";
import { sandboxStatusesOnHost } from "@skerry/contract/sandbox-states";
import type { Database, Queries } from "./database.ts";

/** A host that may get VMs, and what is taken of it. */
export interface HostLoad {
  readonly id: string;
  readonly address: string;
  readonly cpus: number;
  readonly memory_mib: number;
  readonly templates: readonly Template[];
  readonly used_memory_mib: number;
  readonly used_vcpus: number;
}

/** An organization and a host as they are while both are locked. */
export interface Room {
  /** Undefined where the host may not get VMs any more. */
  readonly host: HostLoad | undefined;
  readonly held: Readonly<Record<QuotaName, number>>;
  readonly exceptions: Partial<Record<LimitName, number>>;
  readonly egressDefault: Egress["mode"];
}

/** All hosts that may get VMs. */
export async function availableHosts(db: Queries): Promise<HostLoad[]> {
  const { rows } = await sql<HostLoad>`
    select ${hostColumns}
    from hosts h
    left join (
      select host_id, sum(memory_mib) as memory_mib, sum(vcpus) as vcpus from ${onHosts} as vms group by host_id
    ) used on used.host_id = h.id
    where ${isAvailable}
    order by h.id`.execute(db);
  return rows;
}

/** Until the transaction ends nobody else adds anything to the organization or to the host. What it writes need not be on the disk when it
 *  commits: nobody is told of it before a later commit is, and that brings this one along. */
export async function lockRoom(transaction: Queries, orgId: string, hostId: string): Promise<Room> {
  // The organization first, everywhere: who locks in another order waits for each other.
  await sql`
    with unhurried as (select set_config('synchronous_commit', 'off', true)),
    organization as materialized (select id from organizations where id = ${orgId} for no key update)
    select 1 from unhurried, organization, hosts where hosts.id = ${hostId} for no key update of hosts`.execute(
    transaction,
  );
  // A statement of its own: sums taken before the locks would miss what their holders before us wrote.
  const { rows } = await sql<RoomRow>`
    select o.egress_default, held.*, h.*,
      (select json_object_agg(name, value) from organization_limits where org_id = o.id) as exceptions
    from organizations o
    cross join (${heldBy(orgId)}) held
    left join (
      select ${hostColumns}
      from hosts h
      cross join lateral (
        select sum(memory_mib) as memory_mib, sum(vcpus) as vcpus from ${onHosts} as vms where host_id = h.id
      ) used
      where h.id = ${hostId} and ${isAvailable}
    ) h on true
    where o.id = ${orgId}`.execute(transaction);
  const [row] = rows;
  if (row === undefined) throw new Error(`there is no organization ${orgId}`);
  return roomOf(row);
}

interface RoomRow extends HeldRow, Omit<HostLoad, "id"> {
  readonly egress_default: Egress["mode"];
  readonly exceptions: Partial<Record<LimitName, number>> | null;
  readonly id: string | null;
}

function roomOf(row: RoomRow): Room {
  const { id, address, cpus, memory_mib, templates, used_memory_mib, used_vcpus } = row;
  return {
    host: id === null ? undefined : { id, address, cpus, memory_mib, templates, used_memory_mib, used_vcpus },
    held: heldOf(row),
    exceptions: row.exceptions ?? {},
    egressDefault: row.egress_default,
  };
}

/** What an organization holds at this moment. */
export async function held(db: Database, orgId: string): Promise<Readonly<Record<QuotaName, number>>> {
  const { rows } = await heldBy(orgId).execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error("a sum returned no row");
  return heldOf(row);
}

/** Its names are not those of a host's columns. */
interface HeldRow {
  readonly held_sandboxes: number;
  readonly held_machines: number;
  readonly held_vcpus: number;
  readonly held_memory_mib: number;
  readonly held_disk_gib: number;
}

function heldOf(row: HeldRow): Record<QuotaName, number> {
  return {
    sandboxes: row.held_sandboxes,
    machines: row.held_machines,
    vcpus: row.held_vcpus,
    memory_mib: row.held_memory_mib,
    disk_gib: row.held_disk_gib,
  };
}

const sandboxIsOnHost = sql`status in (${sql.join(sandboxStatusesOnHost)})`;
const machineIsOnHost = sql`status in (${sql.join(machineStatusesOnHost)})`;

/** vCPUs and memory of what runs, disk of what exists. Nothing exists of a machine that never ran. */
function heldBy(orgId: string) {
  const capped = (sum: string) => sql`least(coalesce(sum(${sql.ref(sum)}), 0), ${LIMIT_MAX})::integer`;
  return sql<HeldRow>`
    select
      coalesce(sum(sandbox), 0)::integer as held_sandboxes,
      coalesce(sum(1 - sandbox), 0)::integer as held_machines,
      ${capped("vcpus")} as held_vcpus,
      ${capped("memory_mib")} as held_memory_mib,
      ${capped("disk_gib")} as held_disk_gib
    from (
      select 1 as sandbox, disk_gib,
        case when ${sandboxIsOnHost} then vcpus end as vcpus,
        case when ${sandboxIsOnHost} then memory_mib end as memory_mib
      from sandboxes where org_id = ${orgId} and status not in ('failed', 'destroyed')
      union all
      select 0, disk_gib,
        case when ${machineIsOnHost} then vcpus end,
        case when ${machineIsOnHost} then memory_mib end
      from machines
      where org_id = ${orgId} and status <> 'destroyed' and not (status in ('failed', 'stopped') and started_at is null)
    ) things`;
}

/** What holds memory and CPUs of hosts. A VM on its way holds them twice. */
const onHosts = sql`(
  select host_id, memory_mib, vcpus from sandboxes where ${sandboxIsOnHost} and status <> 'destroyed'
  union all
  select host_id, memory_mib, vcpus from machines where ${machineIsOnHost} and status <> 'destroyed'
  union all
  select to_host_id, memory_mib, vcpus from moves where status in (${sql.join(moveStatusesOnTarget)})
)`;

const hostColumns = sql`
  h.id, h.address, h.cpus, h.memory_mib, h.templates,
  coalesce(used.memory_mib, 0)::integer as used_memory_mib, coalesce(used.vcpus, 0)::integer as used_vcpus`;

const isAvailable = sql`
  h.status = 'online' and h.desired = 'active' and not h.unsettled
  and h.last_heartbeat > now() - ${HOST_OFFLINE_AFTER_S} * interval '1 second'`;
