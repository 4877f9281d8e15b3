// Rows of instances of apps, and of those that have ended.

import { sql, type Selectable } from "kysely";
import type { Queries, Tables } from "../../db/database.ts";

export type InstanceRow = Selectable<Tables["app_instances"]>;

export async function instancesOf(db: Queries, appIds: readonly string[]): Promise<InstanceRow[]> {
  const { rows } = await sql<InstanceRow>`
    select * from app_instances where app_id = any(${appIds}) order by app_id, group_name, number`.execute(
    db,
  );
  return rows;
}

export async function insertInstance(
  db: Queries,
  {
    machine_id,
    app_id,
    release,
    group_name,
    number,
  }: Omit<InstanceRow, "state" | "drains_until" | "serving_since" | "fault" | "fault_count" | "created_at">,
): Promise<void> {
  await sql`
    insert into app_instances (machine_id, app_id, release, group_name, number, state)
    values (${machine_id}, ${app_id}, ${release}, ${group_name}, ${number}, 'starting')
    on conflict do nothing`.execute(db);
}

/** `drainMs`: of one that begins to drain. */
export async function setInstanceState(
  db: Queries,
  machineId: string,
  state: InstanceRow["state"],
  drainMs = 0,
): Promise<void> {
  await sql`
    update app_instances set state = ${state},
      serving_since = case when ${state} = 'serving' then now() else serving_since end,
      drains_until = case when ${state} = 'draining' then now() + ${drainMs} * interval '1 millisecond' end
    where machine_id = ${machineId} and state <> ${state}`.execute(db);
}

/** Instances of an app whose logs are kept. */
export const ENDED_MAX = 50;

/** Keeps where the instance ran, so that its log can still be read. */
export async function removeInstance(
  db: Queries,
  { app_id: appId, machine_id: machineId }: Pick<InstanceRow, "app_id" | "machine_id">,
): Promise<void> {
  await sql`
    with gone as (delete from app_instances where machine_id = ${machineId} returning *)
    insert into ended_instances (machine_id, app_id, release, group_name, number, host_id, secrets, created_at)
    select machine_id, app_id, release, group_name, number, host_id, secrets, gone.created_at
    from gone join vms on vms.id = machine_id on conflict do nothing`.execute(db);
  await sql`
    delete from ended_instances where app_id = ${appId} and ended_at < (
      select ended_at from ended_instances where app_id = ${appId} order by ended_at desc offset ${ENDED_MAX - 1} limit 1)`.execute(
    db,
  );
}
