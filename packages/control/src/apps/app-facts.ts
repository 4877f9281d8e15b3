// All that the deployer looks at: rows of apps, and what their machines are in.

import { sql } from "kysely";
import type { StoredHealth } from "../db/tables/machine-tables.ts";
import type { Queries } from "../db/database.ts";
import type { StoredManifest } from "./app-tables.ts";
import type { AppRow, DeployRow, InstanceRow, ReleaseRow } from "./app-store.ts";

export interface AppWork extends AppRow {
  readonly may_start: boolean;
  readonly deploy: (DeployRow & { readonly is_overdue: boolean }) | undefined;
  readonly wanted: ReleaseRow | undefined;
  readonly instances: readonly InstanceWork[];
}

export interface InstanceWork extends InstanceRow {
  readonly drain_is_over: boolean;
  readonly is_proven: boolean;
  /** Status of its machine; null where that is gone. */
  readonly status: string | null;
  readonly reason: string | null;
  readonly exit_code: number | null;
  readonly execution_id: string | null;
  readonly host_id: string | null;
  readonly has_check: boolean | null;
  readonly check_version: number | null;
  readonly health: StoredHealth | null;
  /** Services of its own release; null where that is forgotten. */
  readonly services: StoredManifest["services"] | null;
}

export async function appWork(db: Queries): Promise<AppWork[]> {
  const { rows: apps } = await sql<AppRow & { may_start: boolean }>`
    select *, start_after <= now() as may_start from apps order by id`.execute(db);
  const { rows: deploys } = await sql<DeployRow & { is_overdue: boolean }>`
    select *, ends_by <= now() as is_overdue from deploys where finished_at is null order by id`.execute(db);
  const { rows: instances } = await sql<InstanceWork>`
    select i.*, coalesce(i.drains_until <= now(), false) as drain_is_over,
      coalesce(i.serving_since <= now() - interval '10 minutes', false) as is_proven,
      m.status, m.reason, m.exit_code, m.execution_id, m.host_id, m.health_check is not null as has_check,
      m.check_version, m.health, r.manifest -> 'services' as services
    from app_instances i left join machines m on m.id = i.machine_id
    left join releases r on r.app_id = i.app_id and r.number = i.release order by i.app_id, i.group_name, i.number`.execute(
    db,
  );
  // A later deploy supersedes the one before it.
  const active = new Map(deploys.map((deploy) => [deploy.app_id, deploy]));
  const wanted = apps.map(({ id, live }) => ({ id, number: active.get(id)?.release ?? live }));
  const { rows: releases } = await sql<ReleaseRow>`
    select releases.* from releases
    join unnest(${wanted.map(({ id }) => id)}::text[], ${wanted.map(({ number }) => number)}::int[]) as wanted (id, number)
      on app_id = wanted.id and releases.number = wanted.number`.execute(db);
  const releaseOf = new Map(releases.map((release) => [release.app_id, release]));
  const byApp = Map.groupBy(instances, ({ app_id }) => app_id);
  return apps.map((app) => ({
    ...app,
    deploy: active.get(app.id),
    wanted: releaseOf.get(app.id),
    instances: byApp.get(app.id) ?? [],
  }));
}

/** Machines of apps that no instance has: the process that made them died before it wrote that down. */
export async function orphans(
  db: Queries,
): Promise<{ readonly id: string; readonly org_id: string; readonly app_id: string }[]> {
  const { rows } = await sql<{ id: string; org_id: string; app_id: string }>`
    select id, org_id, owner_id as app_id from vms
    where owner_kind = 'app' and status not in ('destroyed', 'destroying')
      and not exists (select 1 from app_instances where machine_id = vms.id)`.execute(db);
  return rows;
}
