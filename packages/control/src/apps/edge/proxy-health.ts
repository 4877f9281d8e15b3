// Looks whether instances are well: what rows say, what hosts' checks find, and what their proxies have seats
// for. Hosts give an instance whose check fails no requests while another one is well; here it is counted, so
// that one that stays unwell is replaced, and the reason is shown.

import { sql } from "kysely";
import type { EdgeState } from "@skerry/contract/host-api/edge";
import { reportOf, type BackgroundService } from "../../background/background-service.ts";
import type { Context } from "../../context.ts";
import type { Queries } from "../../db/database.ts";
import { hostAddress } from "../../hosts/host-rows.ts";
import { DEPLOYER } from "../app-rows.ts";
import { faultOf, UNWELL_AT, type Found, type Looked } from "./instance-faults.ts";

export function proxyHealthChecker(context: Context, everyMs: number): BackgroundService {
  return {
    name: "proxy-health-checker",
    everyMs,
    async activate(stop) {
      const instances = await lookedAt(context.db);
      const hosts = [...new Set(instances.flatMap(({ host_id }) => host_id ?? []))];
      const answers = await Promise.allSettled(hosts.map((id) => edgeOf(context, id, stop)));
      const edges = new Map(
        answers.flatMap((answer) =>
          answer.status === "fulfilled" && answer.value !== undefined ? [answer.value] : [],
        ),
      );
      const found = instances.map((one) => ({
        machine_id: one.machine_id,
        ...faultOf(one, edges.get(one.host_id ?? "")),
      }));
      if (await noteFaults(context.db, found)) context.wake(DEPLOYER);
      return reportOf(answers, { examined: instances.length, more: false });
    },
  };
}

async function lookedAt(db: Queries): Promise<Looked[]> {
  const { rows } = await sql<Looked>`
    select i.machine_id, i.state, i.fault, m.host_id, m.execution_id, m.health, m.check_version,
      coalesce(r.manifest -> 'services' @> jsonb_build_array(jsonb_build_object('group', i.group_name)), false) as has_service
    from app_instances i join machines m on m.id = i.machine_id
    left join releases r on r.app_id = i.app_id and r.number = i.release
    where i.state in ('starting', 'serving') and m.status = 'running' and m.desired <> 'stopped' and not coalesce(m.host_lost, false)
    order by i.machine_id`.execute(db);
  return rows;
}

/** Undefined: the host is gone. */
async function edgeOf(
  context: Context,
  hostId: string,
  stop: AbortSignal,
): Promise<readonly [string, EdgeState] | undefined> {
  const address = await hostAddress(context.db, hostId);
  return address === undefined ? undefined : [hostId, await context.hosts.client(address).edge.state(stop)];
}

/** Resolves with whether one is to be replaced now, or is well again after it was to be. */
async function noteFaults(
  db: Queries,
  found: readonly (Found & { readonly machine_id: string })[],
): Promise<boolean> {
  const { rows } = await sql<{ is_due: boolean }>`
    update app_instances i set fault = found.fault,
      fault_count = case when found.fault is null or not found.counts then 0 else least(fault_count + 1, ${UNWELL_AT}) end
    from unnest(${found.map((one) => one.machine_id)}::text[], ${found.map(({ fault }) => fault ?? null)}::text[],
      ${found.map(({ counts }) => counts)}::boolean[]) as found (machine_id, fault, counts)
    where i.machine_id = found.machine_id
      and (i.fault is distinct from found.fault or (found.counts and fault_count < ${UNWELL_AT}))
    returning fault_count = ${UNWELL_AT} or i.fault is null as is_due`.execute(db);
  return rows.some(({ is_due }) => is_due);
}
