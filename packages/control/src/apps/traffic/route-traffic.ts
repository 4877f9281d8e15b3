// Answers of apps by routes over time, with the times that they took: steps of ten minutes.

import { sql } from "kysely";
import { ANSWER_TIME_BOUNDS_MS } from "@skerry/contract/apps/app-bounds";
import { ROUTE_METRICS_STEP_MS, type AppRoutePoint } from "@skerry/contract/apps/app-metrics";
import { answersOf, answersTogether, type AnswerCounts } from "@skerry/contract/host-api/answer-counts";
import { SAMPLES_KEPT_MS } from "@skerry/contract/host-api/metrics";
import type { Queries } from "../../db/database.ts";

interface Row extends AnswerCounts {
  readonly app_id: string;
  readonly route_id: string;
}

const STEP_S = ROUTE_METRICS_STEP_MS / 1_000;

/** Adds to the step of now, and forgets what is older than a day. */
export async function addRouteTraffic(db: Queries, rows: readonly Row[]): Promise<void> {
  const column = (name: "app_id" | "route_id" | "client_errors" | "server_errors") =>
    rows.map((row) => row[name]);
  // An array of arrays would be taken apart as one.
  const times = rows.map((row) => `{${row.times.join()}}`);
  await sql`
    insert into route_traffic (app_id, route_id, counted_at, times, client_errors, server_errors)
    select app_id, route_id, to_timestamp(floor(extract(epoch from now()) / ${STEP_S}) * ${STEP_S}), times::bigint[], client_errors, server_errors
    from unnest(${column("app_id")}::text[], ${column("route_id")}::text[], ${times}::text[],
      ${column("client_errors")}::bigint[], ${column("server_errors")}::bigint[])
      as counted (app_id, route_id, times, client_errors, server_errors)
    where app_id in (select id from apps) order by 1, 2
    on conflict (app_id, counted_at, route_id) do update set
      times = (select array_agg(one + other order by place) from unnest(route_traffic.times, excluded.times)
        with ordinality as both_times (one, other, place)),
      client_errors = route_traffic.client_errors + excluded.client_errors,
      server_errors = route_traffic.server_errors + excluded.server_errors`.execute(db);
  await sql`delete from route_traffic where counted_at < now() - ${SAMPLES_KEPT_MS} * interval '1 millisecond'`.execute(
    db,
  );
}

/** Steps of at least ten minutes. */
export async function readRouteMetrics(
  db: Queries,
  appId: string,
  { sinceMs, stepMs }: { readonly sinceMs: number; readonly stepMs: number },
): Promise<AppRoutePoint[]> {
  const step = Math.max(stepMs, ROUTE_METRICS_STEP_MS);
  const { rows } = await sql<AnswerCounts & { at: Date; route_id: string }>`
    select to_timestamp(floor(extract(epoch from counted_at) * 1000 / ${step}) * ${step} / 1000) as at,
      route_id, times::float8[] as times, client_errors::float8 as client_errors, server_errors::float8 as server_errors
    from route_traffic where app_id = ${appId} and counted_at >= to_timestamp(${sinceMs} / 1000.0)
    order by 1, 2`.execute(db);
  const byStep = Map.groupBy(rows, ({ at, route_id }) => `${at.toISOString()} ${route_id}`);
  return [...byStep.values()].flatMap((same) => {
    const [first] = same;
    const counts = same.reduce<AnswerCounts | undefined>(answersTogether, undefined);
    if (first === undefined || counts === undefined) return [];
    const { at, route_id: id } = first;
    return [pointOf({ at: at.toISOString(), route_id: id === appId ? null : id }, counts)];
  });
}

function pointOf(which: Pick<AppRoutePoint, "at" | "route_id">, counts: AnswerCounts): AppRoutePoint {
  const { times, client_errors, server_errors } = counts;
  return {
    ...{ ...which, answers: answersOf(counts), client_errors, server_errors },
    ...{
      p50_ms: percentile(counts, 0.5),
      p95_ms: percentile(counts, 0.95),
      p99_ms: percentile(counts, 0.99),
    },
    times: [...times],
  };
}

/** Bound of the time within which such a part of the answers began; null: the last bound is too low. */
export function percentile({ times }: Pick<AnswerCounts, "times">, part: number): number | null {
  let left = part * answersOf({ times });
  for (const [at, bound] of ANSWER_TIME_BOUNDS_MS.entries()) {
    left -= times[at] ?? 0;
    if (left <= 0) return bound;
  }
  return null;
}
