// All that the deployer looks at: rows of apps, and what their machines are in.

import { sql } from "kysely";
import type { StoredHealth } from "../db/tables/machine-tables.ts";
import type { Queries } from "../db/database.ts";
import type { StoredManifest } from "./app-tables.ts";
import { isDeployPrepared } from "@skerry/contract/apps/deploy-status";
import { routesOf, type RouteRow } from "./edge/edge-routes.ts";
import { ONE_OFF } from "./reconcile-facts.ts";
import { tcpPortsOf, type TcpPortRow } from "./edge/tcp-ports.ts";
import type { AppRow, DeployRow, ReleaseRow } from "./app-store.ts";
import type { InstanceRow } from "./instances/instance-store.ts";

export interface AppWork extends AppRow {
  readonly may_start: boolean;
  readonly deploy: DeployWork | undefined;
  /** The release whose instances there should be; undefined: none is yet. */
  readonly wanted: RunnableRelease | undefined;
  /** A deploy that is live, and goes back where the release fails. */
  readonly watched: DeployRow | undefined;
  /** The release of the deploy, while that prepares it. */
  readonly coming: ReleaseWork | undefined;
  readonly instances: readonly InstanceWork[];
  readonly routes: readonly RouteRow[];
  readonly tcpPorts: readonly TcpPortRow[];
}

interface DeployWork extends DeployRow {
  readonly is_overdue: boolean;
}

interface ReleaseWork extends ReleaseRow {
  /** Command of the image that its template was made of. */
  readonly image_command: string | null;
}

export type RunnableRelease = ReleaseWork & { readonly template: string };

export interface InstanceWork extends InstanceRow {
  readonly drain_is_over: boolean;
  readonly is_proven: boolean;
  /** Milliseconds for which it has served; null: it does not yet. */
  readonly served_ms: number | null;
  readonly is_leaving: boolean | null;
  /** Status of its machine; null where that is gone. */
  readonly status: string | null;
  readonly desired: string | null;
  readonly host_lost: boolean | null;
  readonly has_run: boolean | null;
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

/** Apps of one statement: other work of this process has its turn after each. */
const APPS_AT_ONCE = 25;

/** All of them. */
export async function appWork(db: Queries): Promise<AppWork[]> {
  const work: AppWork[] = [];
  for (;;) {
    const some = await someWork(db, work.at(-1)?.id ?? "");
    work.push(...some);
    if (some.length < APPS_AT_ONCE) return work;
  }
}

/** A deploy is under way, an instance starts or drains, or an app is being deleted. */
export async function isAnyOnItsWay(db: Queries): Promise<boolean> {
  const { rows } = await sql`
    select 1 from apps where status = 'deleting'
    union all select 1 from deploys where finished_at is null
    union all select 1 from app_instances
      where state = 'draining' or (state = 'starting' and group_name <> ${ONE_OFF}) limit 1`.execute(db);
  return rows.length > 0;
}

async function someWork(db: Queries, after: string): Promise<AppWork[]> {
  const { rows: apps } = await sql<AppRow & { may_start: boolean }>`
    select *, start_after <= now() as may_start from apps
    where id > ${after} order by id limit ${APPS_AT_ONCE}`.execute(db);
  const ids = apps.map(({ id }) => id);
  const { rows: deploys } = await sql<DeployWork>`
    select *, ends_by <= now() as is_overdue from deploys
    where finished_at is null and app_id = any(${ids}) order by id`.execute(db);
  const { rows: instances } = await sql<InstanceWork>`
    select i.*, coalesce(i.drains_until <= now(), false) as drain_is_over,
      coalesce(i.serving_since <= now() - interval '10 minutes', false) as is_proven,
      (extract(epoch from now() - i.serving_since) * 1000)::float8 as served_ms,
      m.status, m.desired, m.host_lost, m.started_at is not null as has_run, m.reason, m.exit_code, m.execution_id, m.host_id, m.health_check is not null as has_check,
      m.check_version, m.health, r.manifest -> 'services' as services, hosts.desired = 'drained' as is_leaving
    from app_instances i left join machines m on m.id = i.machine_id left join hosts on hosts.id = m.host_id
    left join releases r on r.app_id = i.app_id and r.number = i.release
    where i.app_id = any(${ids}) order by i.app_id, i.group_name, i.number`.execute(db);
  const { rows: watched } = await sql<DeployRow>`
    select * from deploys
    where watched_until > now() and status = 'live' and app_id = any(${ids}) order by id`.execute(db);
  // A later deploy supersedes the one before it.
  const active = new Map(deploys.map((deploy) => [deploy.app_id, deploy]));
  const numbers = apps.flatMap(({ id, live }) =>
    [live, active.get(id)?.release].flatMap((number) => (number == null ? [] : { id, number })),
  );
  const { rows: releases } = await sql<ReleaseWork>`
    select releases.*, templates.command as image_command from releases
    join unnest(${numbers.map(({ id }) => id)}::text[], ${numbers.map(({ number }) => number)}::int[]) as wanted (id, number)
      on app_id = wanted.id and releases.number = wanted.number
    left join templates on templates.id = template`.execute(db);
  const releaseOf = new Map(releases.map((one) => [`${one.app_id} ${one.number}`, one]));
  const byApp = Map.groupBy(instances, ({ app_id }) => app_id);
  const routes = Map.groupBy(await routesOf(db, ids), ({ app_id }) => app_id);
  const tcpPorts = Map.groupBy(await tcpPortsOf(db, ids), ({ app_id }) => app_id);
  return apps.map((app) => {
    const deploy = active.get(app.id);
    const isPrepared = deploy !== undefined && isDeployPrepared(deploy.status);
    const wanted = releaseOf.get(`${app.id} ${isPrepared ? deploy.release : app.live}`);
    return {
      ...{
        ...app,
        deploy,
        watched: watched.findLast((one) => one.app_id === app.id && one.release === app.live),
      },
      wanted: wanted !== undefined && isRunnable(wanted) ? wanted : undefined,
      coming: deploy === undefined || isPrepared ? undefined : releaseOf.get(`${app.id} ${deploy.release}`),
      instances: byApp.get(app.id) ?? [],
      routes: routes.get(app.id) ?? [],
      tcpPorts: tcpPorts.get(app.id) ?? [],
    };
  });
}

/** The live release; undefined: none is, or it has no template. */
export async function releaseToRun(
  db: Queries,
  { id, live }: Pick<AppRow, "id" | "live">,
): Promise<RunnableRelease | undefined> {
  const { rows } = await sql<ReleaseWork>`
    select releases.*, templates.command as image_command from releases
    left join templates on templates.id = template
    where app_id = ${id} and number = ${live}`.execute(db);
  return rows.find(isRunnable);
}

export function isRunnable(release: ReleaseWork): release is RunnableRelease {
  return release.template !== null;
}

export interface Orphan {
  readonly id: string;
  readonly org_id: string;
  readonly app_id: string;
  readonly name: string;
  /** Number of its release; null: it says none. */
  readonly release: number | null;
}

/** Machines of apps that no instance has: the process that made them died before it wrote that down. */
export async function orphans(db: Queries): Promise<Orphan[]> {
  const { rows } = await sql<Orphan>`
    select id, org_id, owner_id as app_id, name, (metadata ->> 'release')::int as release from vms
    where owner_kind = 'app' and status not in ('destroyed', 'destroying')
      and not exists (select 1 from app_instances where machine_id = vms.id)`.execute(db);
  return rows;
}
