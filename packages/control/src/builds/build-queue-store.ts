// When each build is looked at: the turn of those that can go on, and the pauses of those that cannot.

import { sql } from "kysely";
import { buildStatusesUnderWay } from "@skerry/contract/builds/build-status";
import { backoff } from "../db/backoff.ts";
import { isAhead } from "../db/clock-set-back.ts";
import type { Queries } from "../db/database.ts";
import { isSameWait, keptWait, type NewWait } from "../waits/stored-wait.ts";
import { buildColumns, type BuildRow } from "./build-store.ts";

/** Longest pause between two attempts at a step of a build, in seconds. */
const RETRY_MAX_S = 15;

const underWay = sql`status in (${sql.join(buildStatusesUnderWay)})`;

/**
 * Those that something is to be done about, and that are not `inHand` yet: what is under way, and what has ended and still has its microVM. Those of
 * organizations that have the fewest in hand come first, and of each organization in turn the one that waits longest.
 */
export async function dueBuilds(db: Queries, inHand: readonly string[], limit: number): Promise<BuildRow[]> {
  const { rows } = await sql<BuildRow>`
    with held as (
      select org_id, count(*) as builds from builds where id = any(${inHand}::text[]) group by org_id
    ), waiting as (
      select id, retry_at, coalesce(held.builds, 0) + row_number() over (partition by org_id order by retry_at) as turn
      from builds left join held using (org_id)
      where (${underWay} or execution_id is not null)
        and not ${isAhead("retry_at", RETRY_MAX_S * 1_000)} and id <> all(${inHand}::text[])
    )
    select ${buildColumns} from builds join (select id, turn from waiting) due using (id)
    order by due.turn, retry_at limit ${Math.max(0, limit)}`.execute(db);
  return rows;
}

/** When the next one is due; undefined where none waits. */
export async function nextBuildDueMs(db: Queries): Promise<number | undefined> {
  const { rows } = await sql<{ ms: number | null }>`
    select (extract(epoch from min(retry_at) - now()) * 1000)::float8 as ms from builds
    where ${underWay} or execution_id is not null`.execute(db);
  return rows[0]?.ms ?? undefined;
}

/** It cannot go on now, because of `wait`. The next attempt comes after 1, 2, 4 … 15 s. Returns the row where it waits for something else than before. */
export async function postponeBuild(
  db: Queries,
  { id, status }: Pick<BuildRow, "id" | "status">,
  wait: NewWait,
): Promise<Pick<BuildRow, "id" | "waits_for"> | undefined> {
  const { rows } = await sql<Pick<BuildRow, "id" | "waits_for"> & { same: boolean }>`
    update builds set
      attempts = builds.attempts + 1, retry_at = now() + ${backoff(sql`builds.attempts`, RETRY_MAX_S)},
      waits_for = ${keptWait("before.waits_for", wait)},
      version = builds.version + case when ${isSameWait("before.waits_for", wait)} then 0 else 1 end
    from builds before
    where builds.id = ${id} and builds.status = ${status} and before.id = builds.id
    returning builds.id, builds.waits_for, ${isSameWait("before.waits_for", wait)} as same`.execute(db);
  return rows[0]?.same === false ? rows[0] : undefined;
}

/**
 * Its microVM runs, and waits for the context: a look is worth it after so long, or as soon as it is woken.
 * The time within which the context has to come begins with the first of these waits.
 */
export async function waitForContext(
  db: Queries,
  { id, status }: Pick<BuildRow, "id" | "status">,
  seconds: number,
): Promise<void> {
  await sql`
    update builds set
      retry_at = now() + ${seconds} * interval '1 second',
      waits_for = ${keptWait("waits_for", CONTEXT_WAIT)},
      version = version + case when ${isSameWait("waits_for", CONTEXT_WAIT)} then 0 else 1 end
    where id = ${id} and status = ${status}`.execute(db);
}

const CONTEXT_WAIT: NewWait = { kind: "context", id: null, name: null, text: "which its client sends" };
