// Rows of builds. A change of status names the version that the decision was about, and is refused when that is old.

import { sql, type Selectable } from "kysely";
import type { Build } from "@skerry/contract/builds/build";
import type { PulledImage } from "@skerry/contract/templates/pulled-image";
import { canBuildProceed, type BuildStatus } from "@skerry/contract/builds/build-status";
import type { EgressDenial } from "@skerry/contract/vms/egress";
import { newId } from "@skerry/contract/ids";
import type { DiskImage } from "@skerry/contract/host-api/templates";
import type { Insertable } from "kysely";
import type { Queries, Tables } from "../db/database.ts";
import { forgetBeyond, type Kept } from "../db/keep-newest.ts";
import { ago, steadyNow } from "../db/steady-time.ts";
import { SWEPT_AT_ONCE } from "./build-log-store.ts";

export type BuildRow = Omit<Selectable<Tables["builds"]>, "log_lines" | "log_bytes"> & {
  /** Until `ends_by`, by the database's clock. */
  readonly left_ms: number;
  /** How long it still waits for its context, from when its microVM was there to take it. */
  readonly context_left_ms: number;
};
export type StepRow = Omit<Selectable<Tables["build_steps"]>, "position" | "bytes"> & {
  readonly position: number;
  readonly bytes: number | null;
};

/** A build whose context does not come is not worth the room that it holds. */
const CONTEXT_WITHIN_MS = 10 * 60_000;
/** A build that does not come to its first step holds its room for no longer. */
const BUILD_WAIT_MAX_MS = 24 * 60 * 60_000;

/** Of a row of `builds`. */
export const buildColumns = sql`
  builds.*, (extract(epoch from ends_by - ${steadyNow}) * 1000)::float8 as left_ms,
  case when waits_for ->> 'kind' = 'context'
    then (extract(epoch from (waits_for ->> 'since')::timestamptz - ${ago(sql`${sql.lit(CONTEXT_WITHIN_MS)} * interval '1 millisecond'`)}) * 1000)::float8
    else ${sql.lit(CONTEXT_WITHIN_MS)}::float8 end as context_left_ms`;
const stepColumns = sql`*, position::float8 as position, bytes::float8 as bytes`;

export async function insertBuild(
  transaction: Queries,
  build: Omit<Insertable<Tables["builds"]>, "status" | "ends_by" | "pending_timeout_ms">,
  timeoutMs: number,
): Promise<BuildRow> {
  await transaction
    .insertInto("builds")
    .values({
      ...build,
      status: "queued",
      ends_by: sql<Date>`now() + ${BUILD_WAIT_MAX_MS} * interval '1 millisecond'`,
      pending_timeout_ms: timeoutMs,
    })
    .execute();
  const row = await buildById(transaction, build.id);
  if (row === undefined) throw new Error("a build that was written is not there");
  return row;
}

export async function insertSteps(transaction: Queries, steps: readonly NewStep[]): Promise<void> {
  if (steps.length > 0) await transaction.insertInto("build_steps").values(steps).execute();
}

export type NewStep = Insertable<Tables["build_steps"]>;

export async function noteCommit(db: Queries, id: string, commit: string): Promise<void> {
  await sql`update builds set commit = ${commit}, version = version + 1 where id = ${id}`.execute(db);
}

interface NewBeginning {
  readonly commit: string;
  readonly target: BuildRow["target"];
  readonly config: BuildRow["config"];
  readonly steps: readonly NewStep[];
}

/** It waits for another microVM, with other steps. False where another writer was first: then nothing has changed. */
export async function beginAnew(
  transaction: Queries,
  { id, version }: Pick<BuildRow, "id" | "version">,
  { commit, target, config, steps }: NewBeginning,
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update builds set
      status = 'queued', version = version + 1, execution_id = ${newId("incarnation")}, attempts = 0, retry_at = now(),
      commit = ${commit}, target = ${JSON.stringify(target)}::jsonb, config = ${JSON.stringify(config)}::jsonb
    where id = ${id} and version = ${version} and status = 'building'`.execute(transaction);
  if (numAffectedRows !== 1n) return false;
  await sql`delete from build_steps where build_id = ${id}`.execute(transaction);
  await insertSteps(transaction, steps);
  return true;
}

export async function buildById(db: Queries, id: string): Promise<BuildRow | undefined> {
  const { rows } = await sql<BuildRow>`select ${buildColumns} from builds where id = ${id}`.execute(db);
  return rows[0];
}

export async function findBuild(db: Queries, orgId: string, id: string): Promise<BuildRow | undefined> {
  const { rows } = await sql<BuildRow>`
    select ${buildColumns} from builds where id = ${id} and org_id = ${orgId}`.execute(db);
  return rows[0];
}

export async function listBuilds(
  db: Queries,
  { orgId, status, name }: { readonly orgId: string; readonly status?: BuildStatus; readonly name?: string },
  { before, limit }: { readonly before: string | undefined; readonly limit: number },
): Promise<BuildRow[]> {
  const { rows } = await sql<BuildRow>`
    select ${buildColumns} from builds
    where org_id = ${orgId}
      and (${status ?? null}::text is null or status = ${status ?? null})
      and (${name ?? null}::text is null or name = ${name ?? null})
      and (${before ?? null}::text is null or id < ${before ?? null})
    order by id desc limit ${limit}`.execute(db);
  return rows;
}

export async function buildsOfIds(db: Queries, orgId: string, ids: readonly string[]): Promise<BuildRow[]> {
  const { rows } = await sql<BuildRow>`
    select ${buildColumns} from builds where org_id = ${orgId} and id = any(${ids}::text[])`.execute(db);
  return rows;
}

/** In their order, of each build. */
export async function stepsOf(db: Queries, ids: readonly string[]): Promise<StepRow[]> {
  const { rows } = await sql<StepRow>`
    select ${stepColumns} from build_steps where build_id = any(${ids}::text[]) order by build_id, index`.execute(
    db,
  );
  return rows;
}

/** The timeout begins once. */
const endsByBegun = sql`
  case when pending_timeout_ms is null then ends_by else now() + pending_timeout_ms * interval '1 millisecond' end`;

/** The build's first step is about to begin while it is queued. Returns the row as it is then. */
export async function beginTimeout(db: Queries, id: string): Promise<BuildRow | undefined> {
  await sql`
    update builds set ends_by = ${endsByBegun}, pending_timeout_ms = null, waits_for = null, version = version + 1
    where id = ${id} and pending_timeout_ms is not null`.execute(db);
  return buildById(db, id);
}

interface Facts {
  readonly image?: DiskImage;
  readonly error?: Build["error"];
  /** Of a version that was there before. */
  readonly templateId?: string;
}

/** Undefined where another writer was first. */
export async function proceedBuild(
  db: Queries,
  seen: Pick<BuildRow, "id" | "status" | "version">,
  to: BuildStatus,
  { image, error, templateId }: Facts = {},
): Promise<BuildRow | undefined> {
  if (!canBuildProceed(seen.status, to)) throw new Error(`a build cannot go from ${seen.status} to ${to}`);
  const { rows } = await sql<BuildRow>`
    update builds set
      status = ${to}, version = version + 1, attempts = 0, retry_at = now(),
      image = coalesce(${image === undefined ? null : JSON.stringify(image)}::jsonb, image),
      error = coalesce(${error === undefined ? null : JSON.stringify(error)}::jsonb, error),
      template_id = coalesce(${templateId ?? null}, template_id),
      started_at = case when ${to} = 'building' then now() else started_at end,
      finished_at = case when ${to} in ('ready', 'failed', 'canceled') then now() end,
      ends_by = ${to === "building" ? endsByBegun : sql`ends_by`},
      pending_timeout_ms = ${to === "building" ? sql`null` : sql`pending_timeout_ms`},
      waits_for = null
    where id = ${seen.id} and version = ${seen.version} and status = ${seen.status}
    returning ${buildColumns}`.execute(db);
  return rows[0];
}

/**
 * Its microVM is gone, and what that held is free. What its steps were told, which may hold secrets, is needed no more: another attempt is made of
 * its request. It is erased before the release, so that a process that dies in between leaves a row that is released again.
 */
export async function releaseBuildVm(db: Queries, id: string, executionId: string): Promise<void> {
  await sql`update build_steps set command = '', env = '{}' where build_id = ${id}`.execute(db);
  await sql`
    update builds set execution_id = null, image_config = null, version = version + 1
    where id = ${id} and execution_id = ${executionId}`.execute(db);
}

/** False where it waits for none. */
export async function noteContext(db: Queries, id: string): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update builds set context = 'there', waits_for = null, version = version + 1, retry_at = now()
    where id = ${id} and context = 'awaited' and status = 'queued'`.execute(db);
  return numAffectedRows === 1n;
}

export async function noteDenials(db: Queries, id: string, denied: readonly EgressDenial[]): Promise<void> {
  await sql`update builds set denied = ${JSON.stringify(denied)}::jsonb where id = ${id}`.execute(db);
}

export async function beginStep(db: Queries, { build_id, index }: StepRow): Promise<void> {
  await sql`
    with begun as (
      update build_steps set status = 'running', started_at = now()
      where build_id = ${build_id} and index = ${index} and status = 'waiting' returning build_id
    )
    update builds set version = version + 1 where id in (select build_id from begun)`.execute(db);
}

/** Of an image that was pulled. */
export async function noteSource(db: Queries, id: string, source: PulledImage): Promise<void> {
  await sql`
    update builds set source = ${JSON.stringify(source)}, version = version + 1 where id = ${id}`.execute(db);
}

export async function endStep(
  db: Queries,
  { build_id, index }: Pick<StepRow, "build_id" | "index">,
  { status, exitCode }: { readonly status: "done" | "failed"; readonly exitCode: number | null },
): Promise<void> {
  await sql`
    with ended as (
      update build_steps set status = ${status}, exit_code = ${exitCode}, finished_at = now()
      where build_id = ${build_id} and index = ${index} and status = 'running' returning build_id
    )
    update builds set version = version + 1 where id in (select build_id from ended)`.execute(db);
}

/** A microVM of a build, as its host's list is compared with it. */
export interface BuildVmFact {
  readonly id: string;
  readonly execution_id: string | null;
}

export async function buildVmFacts(db: Queries, ids: readonly string[]): Promise<BuildVmFact[]> {
  const { rows } = await sql<BuildVmFact>`
    select id, execution_id from builds where id = any(${ids}::text[])`.execute(db);
  return rows;
}

/** Of an organization. Those that are answered at once take no room that a quota counts, and each keeps what it was asked for. */
export const endedBuilds: Kept = {
  table: "builds",
  isOver: sql`finished_at is not null and execution_id is null`,
  since: sql`finished_at`,
  days: 30,
  minutesMin: 0,
  rowsMax: 2_000,
  bytes: sql`pg_column_size(request) + pg_column_size(config) + coalesce(pg_column_size(denied), 0)`,
  bytesMax: 64 * 1024 * 1024,
};

/** What is beyond that is forgotten, with its log. Returns how many, at most `limit`. */
export async function sweepBuilds(db: Queries, orgId: string, limit: number): Promise<number> {
  let forgotten = 0;
  while (forgotten < limit) {
    const some = Math.min(SWEPT_AT_ONCE, limit - forgotten);
    const gone = await forgetBeyond(db, endedBuilds, { orgId, limit: some });
    forgotten += gone;
    if (gone < some) break;
  }
  return forgotten;
}
