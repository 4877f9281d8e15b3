// Rows of apps, releases, deploys and instances.

import { sql, type Selectable } from "kysely";
import { canDeployProceed, isDeployOver, type DeployStatus } from "@skerry/contract/apps/deploy-status";
import type { Deploy } from "@skerry/contract/apps/deploy";
import type { Queries, Tables } from "../db/database.ts";

export type AppRow = Selectable<Tables["apps"]>;
export type ReleaseRow = Selectable<Tables["releases"]>;
export type DeployRow = Selectable<Tables["deploys"]>;

export async function findApp(db: Queries, orgId: string, id: string): Promise<AppRow | undefined> {
  const { rows } = await sql<AppRow>`select * from apps where id = ${id} and org_id = ${orgId}`.execute(db);
  return rows[0];
}

export async function findAppId(db: Queries, orgId: string, name: string): Promise<string | undefined> {
  const { rows } = await sql<{
    id: string;
  }>`select id from apps where org_id = ${orgId} and name = ${name}`.execute(db);
  return rows[0]?.id;
}

export async function listApps(
  db: Queries,
  orgId: string,
  { before, limit }: { readonly before: string | undefined; readonly limit: number },
): Promise<AppRow[]> {
  const { rows } = await sql<AppRow>`
    select * from apps where org_id = ${orgId} and (${before ?? null}::text is null or id < ${before ?? null})
    order by id desc limit ${limit}`.execute(db);
  return rows;
}

/**
 * Undefined where the organization has an app of this name. It has no address where another app has its
 * label.
 */
export async function insertApp(
  db: Queries,
  { id, org_id, name, scale }: Pick<AppRow, "id" | "org_id" | "name" | "scale">,
): Promise<AppRow | undefined> {
  const { rows } = await sql<AppRow>`
    insert into apps (id, org_id, name, status, label, scale)
    values (${id}, ${org_id}, ${name}, 'active',
      (select ${name}::text where not exists (select 1 from apps where label = ${name})), ${JSON.stringify(scale)})
    on conflict do nothing returning *`.execute(db);
  return rows[0];
}

/** Locks it against other calls, until the transaction ends. */
export async function lockApp(transaction: Queries, orgId: string, id: string): Promise<AppRow | undefined> {
  const { rows } = await sql<AppRow>`
    select * from apps where id = ${id} and org_id = ${orgId} for update`.execute(transaction);
  return rows[0];
}

export async function changeApp(
  db: Queries,
  id: string,
  change: Partial<Pick<AppRow, "scale" | "status" | "live" | "maintenance" | "staged_env">>,
): Promise<void> {
  const { scale, status, live, maintenance, staged_env: staged } = change;
  await sql`
    update apps set scale = coalesce(${scale === undefined ? null : JSON.stringify(scale)}::jsonb, scale),
      status = coalesce(${status ?? null}, status), live = coalesce(${live ?? null}::int, live),
      maintenance = coalesce(${maintenance ?? null}::boolean, maintenance),
      staged_env = coalesce(${staged === undefined ? null : JSON.stringify(staged)}::jsonb, staged_env)
    where id = ${id}`.execute(db);
}

/** It stays while a build of its deploys goes on: without their rows nothing would end that. */
export async function removeApp(db: Queries, id: string): Promise<void> {
  await sql`
    delete from apps where id = ${id} and not exists (
      select 1 from deploys join builds on builds.id = build_id
      where deploys.app_id = apps.id and builds.finished_at is null)`.execute(db);
}

/** An instance has ended by itself: the next one waits, longer each time, up to five minutes. */
export async function noteCrash(db: Queries, id: string, isFirst: boolean): Promise<void> {
  await sql`
    update apps set crashes = case when ${isFirst} then 1 else crashes + 1 end,
      start_after = now() + least(300, power(2, case when ${isFirst} then 0 else least(crashes, 10) end)) * interval '1 second'
    where id = ${id}`.execute(db);
}

/** Writes it with the next number. The app is locked. Forgets releases but for the newest, the live one and those that run. */
export async function insertRelease(
  transaction: Queries,
  app: Pick<AppRow, "id" | "next_release" | "live">,
  release: Pick<ReleaseRow, "template" | "env" | "secrets" | "manifest" | "created_by">,
): Promise<number> {
  const number = app.next_release;
  const { template, env, secrets, manifest, created_by } = release;
  await sql`
    insert into releases (app_id, number, template, env, secrets, manifest, created_by)
    values (${app.id}, ${number}, ${template}, ${JSON.stringify(env)}, ${JSON.stringify(secrets)},
      ${JSON.stringify(manifest)}, ${created_by})`.execute(transaction);
  await sql`update apps set next_release = next_release + 1, crashes = 0, start_after = now() where id = ${app.id}`.execute(
    transaction,
  );
  await sql`
    delete from releases where app_id = ${app.id} and number <= ${number - RELEASES_MAX}
      and number is distinct from ${app.live}
      and not exists (select 1 from app_instances i where i.app_id = releases.app_id and i.release = number)`.execute(
    transaction,
  );
  return number;
}

/** Releases of an app, beside those that run. */
export const RELEASES_MAX = 20;
export const DEPLOYS_MAX = 100;

export async function listReleases(db: Queries, appId: string): Promise<ReleaseRow[]> {
  const { rows } = await sql<ReleaseRow>`
    select * from releases where app_id = ${appId} order by number desc`.execute(db);
  return rows;
}

export async function findRelease(
  db: Queries,
  appId: string,
  number: number,
): Promise<ReleaseRow | undefined> {
  const { rows } = await sql<ReleaseRow>`
    select * from releases where app_id = ${appId} and number = ${number}`.execute(db);
  return rows[0];
}

/** Supersedes the one that is under way. The app is locked. */
export async function insertDeploy(
  transaction: Queries,
  deploy: Pick<DeployRow, "id" | "app_id" | "org_id" | "release" | "build_id" | "created_by"> &
    Partial<Pick<DeployRow, "is_rollback">>,
  timeoutMs: number,
): Promise<DeployRow> {
  const active = await activeDeploy(transaction, deploy.app_id);
  if (active !== undefined) await proceed(transaction, active, "superseded");
  const { rows } = await sql<DeployRow>`
    insert into deploys (id, app_id, org_id, release, build_id, status, created_by, is_rollback, ends_by)
    values (${deploy.id}, ${deploy.app_id}, ${deploy.org_id}, ${deploy.release}, ${deploy.build_id}, 'queued', ${deploy.created_by}, ${deploy.is_rollback ?? false},
      now() + ${timeoutMs} * interval '1 millisecond') returning *`.execute(transaction);
  await sql`
    delete from deploys where app_id = ${deploy.app_id} and id <= (
      select id from deploys where app_id = ${deploy.app_id} order by id desc offset ${DEPLOYS_MAX} limit 1)`.execute(
    transaction,
  );
  const [written] = rows;
  if (written === undefined) throw new Error("a deploy that was written is not there");
  return written;
}

export async function activeDeploy(db: Queries, appId: string): Promise<DeployRow | undefined> {
  const { rows } = await sql<DeployRow>`
    select * from deploys where app_id = ${appId} and finished_at is null order by id desc limit 1`.execute(
    db,
  );
  return rows[0];
}

export async function findDeploy(db: Queries, appId: string, id: string): Promise<DeployRow | undefined> {
  const { rows } = await sql<DeployRow>`
    select * from deploys where app_id = ${appId} and id = ${id}`.execute(db);
  return rows[0];
}

export async function listDeploys(
  db: Queries,
  appId: string,
  { before, limit }: { readonly before: string | undefined; readonly limit: number },
): Promise<DeployRow[]> {
  const { rows } = await sql<DeployRow>`
    select * from deploys where app_id = ${appId} and (${before ?? null}::text is null or id < ${before ?? null})
    order by id desc limit ${limit}`.execute(db);
  return rows;
}

/** The last deploys of these apps. */
export async function lastDeploys(db: Queries, appIds: readonly string[]): Promise<DeployRow[]> {
  const { rows } = await sql<DeployRow>`
    select distinct on (app_id) * from deploys where app_id = any(${appIds}) order by app_id, id desc`.execute(
    db,
  );
  return rows;
}

/** Its template is there, and its time to be live begins. */
export async function noteBuilt(
  transaction: Queries,
  { id, app_id, release }: Pick<DeployRow, "id" | "app_id" | "release">,
  { template, timeoutMs }: { readonly template: string; readonly timeoutMs: number },
): Promise<void> {
  await sql`
    update releases set template = ${template}
    where app_id = ${app_id} and number = ${release} and template is null`.execute(transaction);
  await sql`
    update deploys set ends_by = now() + ${timeoutMs} * interval '1 millisecond' where id = ${id}`.execute(
    transaction,
  );
}

/** It is live now, and watched for so long, unless it is a rollback or there is nothing to go back to. */
export async function watch(
  transaction: Queries,
  { id, release }: Pick<DeployRow, "id" | "release">,
  { previous, watchMs }: { readonly previous: number | null; readonly watchMs: number },
): Promise<void> {
  await sql`
    update deploys set previous = ${previous}, watched_until = now() + ${watchMs} * interval '1 millisecond'
    where id = ${id} and not is_rollback and ${previous}::int is distinct from ${release}
      and ${previous}::int is not null and ${watchMs}::float8 > 0`.execute(transaction);
}

/** Ends the watch of a deploy that has nothing to go back to. */
export async function unwatch(transaction: Queries, { id }: Pick<DeployRow, "id">): Promise<void> {
  await sql`update deploys set watched_until = null where id = ${id}`.execute(transaction);
}

/** Builds of deploys that are over before them, and of apps that are being deleted. */
export async function abandonedBuilds(
  db: Queries,
): Promise<{ readonly id: string; readonly org_id: string }[]> {
  const { rows } = await sql<{ id: string; org_id: string }>`
    select builds.id, builds.org_id from builds join deploys on build_id = builds.id join apps on apps.id = app_id
    where builds.finished_at is null and (deploys.finished_at is not null or apps.status = 'deleting')`.execute(
    db,
  );
  return rows;
}

/** Undefined where another writer was first, or where it cannot come from its status to this one. */
export async function proceed(
  db: Queries,
  { id, version, status: from }: Pick<DeployRow, "id" | "version" | "status">,
  to: DeployStatus,
  reason: Deploy["reason"] = null,
): Promise<DeployRow | undefined> {
  if (!canDeployProceed(from, to)) return undefined;
  const { rows } = await sql<DeployRow>`
    update deploys set status = ${to}, version = version + 1, reason = ${reason === null ? null : JSON.stringify(reason)}::jsonb,
      finished_at = case when ${isDeployOver(to)} then coalesce(finished_at, now()) end, watched_until = null
    where id = ${id} and version = ${version} returning *`.execute(db);
  return rows[0];
}
