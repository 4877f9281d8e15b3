// Counts for status and metrics. Each is read from an index alone, and none grows with the sandboxes that are destroyed.

import { sql, type Selectable } from "kysely";
import { HOST_OFFLINE_AFTER_S, type HostStatus } from "@skerry/contract/host-states";
import { sandboxStatuses, type SandboxStatus } from "@skerry/contract/sandbox-states";
import type { Queries, Tables } from "./database.ts";
import { expirable } from "./sandbox-upkeep.ts";

type HostRow = Selectable<Tables["hosts"]>;

/** All but the one in which nothing is left to count. */
export const countedStatuses = sandboxStatuses.filter((status) => status !== "destroyed");

export interface SandboxLoad {
  readonly host_id: string;
  readonly status: SandboxStatus;
  readonly sandboxes: number;
  readonly memory_mib: number;
  readonly vcpus: number;
}

export async function sandboxLoads(db: Queries): Promise<SandboxLoad[]> {
  const { rows } = await sql<SandboxLoad>`
    select host_id, status, count(*)::integer as sandboxes,
           sum(memory_mib)::integer as memory_mib, sum(vcpus)::integer as vcpus
    from sandboxes where status <> 'destroyed' group by host_id, status`.execute(db);
  return rows;
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

/** Work on sandboxes that nobody has begun. */
export async function waitingWork(db: Queries): Promise<{ expire: number; egress: number }> {
  const { rows } = await sql<{ expire: number; egress: number }>`
    select
      (select count(*) from sandboxes
       where expires_at < now() and status in (${sql.join(expirable)}) and status <> 'destroyed')::integer as expire,
      (select count(*) from sandboxes
       where status = 'running' and egress_applied <> egress_version)::integer as egress`.execute(db);
  return rows[0] ?? { expire: 0, egress: 0 };
}

export interface HostFigures extends Pick<HostRow, "id" | "name" | "cpus" | "memory_mib" | "usage"> {
  readonly status: HostStatus;
  readonly last_heartbeat: Date;
}

/** A host that was silent for too long is offline, whatever its row says. */
export async function hostFigures(db: Queries): Promise<HostFigures[]> {
  const { rows } = await sql<HostFigures>`
    select id, name, cpus, memory_mib, usage, last_heartbeat,
           case when status = 'online' and last_heartbeat <= now() - ${HOST_OFFLINE_AFTER_S} * interval '1 second'
                then 'offline' else status end as status
    from hosts order by name`.execute(db);
  return rows;
}
