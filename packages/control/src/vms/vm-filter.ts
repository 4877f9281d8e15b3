// Which sandboxes, or which machines, of an organization a list shows.

import { CRASH_LOOP_RESTARTS, HEALTHY_AFTER_S } from "@skerry/contract/machines/machine-status";
import { sql, type RawBuilder, type SqlBool } from "kysely";
import { hasOwner } from "./owned.ts";

/** Which of any status. */
export interface VmTraits {
  readonly orgId: string;
  /** Made from one of these. */
  readonly templates?: readonly string[];
  readonly host?: string;
  /** By `OwnerFilter`. */
  readonly owner?: string;
  /** What the name or the id begins with. */
  readonly q?: string;
  readonly createdAfter?: Date;
  /** Started at this time or later; what has not started yet counts from when it was created. */
  readonly startedFrom?: Date;
  /** Says nearly the same, and lets the index leave out the rest. */
  readonly notBefore?: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** Only machines in a crash loop. */
  readonly crashLoop?: boolean;
  /** Only machines whose health check fails. */
  readonly unhealthy?: boolean;
}

/** A machine that ends again and again, and is meant to run. */
export const isInCrashLoop = sql<SqlBool>`(
  desired = 'running' and status not in ('destroying', 'destroyed') and retries >= ${sql.lit(CRASH_LOOP_RESTARTS)}
  and not (status = 'running' and started_at <= now() - ${sql.lit(HEALTHY_AFTER_S)} * interval '1 second')
)`;

/** A machine that runs, and whose host has told that this check of this incarnation fails. */
export const isUnhealthy = sql<SqlBool>`(
  status = 'running' and health_check is not null and health ->> 'status' = 'failing'
  and health ->> 'execution_id' = execution_id and (health ->> 'version')::integer = check_version
)`;

export interface VmFilter<Status extends string> extends VmTraits {
  readonly status?: Status;
  /** Only those with one of them; beside `status` both hold. */
  readonly statuses?: readonly Status[];
  /** By age; default: the newest first. */
  readonly order?: "asc" | "desc";
  /** Only what comes behind this id. */
  readonly before?: string;
  readonly limit: number;
}

export function passes(filter: VmTraits & Partial<VmFilter<string>>): RawBuilder<SqlBool> {
  const { orgId, status, statuses, templates, host, q, metadata, before, order } = filter;
  const conditions = [sql`org_id = ${orgId}`, ...conditionsOfTime(filter)];
  if (status !== undefined) conditions.push(sql`status = ${status}`);
  if (statuses !== undefined) conditions.push(sql`status in (${sql.join(statuses)})`);
  if (templates !== undefined) conditions.push(sql`template = any(${[...templates]}::text[])`);
  if (host !== undefined) conditions.push(sql`host_id = ${host}`);
  if (filter.owner !== undefined) conditions.push(hasOwner(filter.owner));
  if (q !== undefined) conditions.push(sql`(starts_with(id, ${q}) or starts_with(name, ${q}))`);
  if (filter.crashLoop === true) conditions.push(isInCrashLoop);
  if (filter.unhealthy === true) conditions.push(isUnhealthy);
  if (before !== undefined) conditions.push(order === "asc" ? sql`id > ${before}` : sql`id < ${before}`);
  if (Object.keys(metadata).length > 0) conditions.push(sql`metadata @> ${JSON.stringify(metadata)}::jsonb`);
  return sql<SqlBool>`${sql.join(conditions, sql` and `)}`;
}

function conditionsOfTime({ createdAfter, startedFrom, notBefore }: VmTraits): RawBuilder<unknown>[] {
  const conditions: RawBuilder<unknown>[] = [];
  if (createdAfter !== undefined) conditions.push(sql`created_at > ${createdAfter}`);
  if (startedFrom !== undefined) conditions.push(sql`coalesce(started_at, created_at) >= ${startedFrom}`);
  if (notBefore !== undefined) conditions.push(sql`id >= ${notBefore}`);
  return conditions;
}
