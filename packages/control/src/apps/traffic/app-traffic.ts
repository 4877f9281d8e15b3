// Requests of apps over time, as the proxies of hosts have counted them of each instance: steps of five
// minutes of groups and releases. Instances come and go with deploys, so their hosts' own samples would not
// do.

import { sql } from "kysely";
import {
  APP_METRICS_STEP_MS,
  type AppMetrics,
  type AppMetricsPoint,
  type AppMetricsQuery,
} from "@skerry/contract/apps/app-metrics";
import { answersOf, answersSince, type AnswerCounts } from "@skerry/contract/host-api/answer-counts";
import { countsSince, type TrafficCounts } from "@skerry/contract/host-api/traffic-counts";
import { formatDuration } from "@skerry/contract/durations";
import type { EdgeTraffic } from "@skerry/contract/host-api/edge";
import { SAMPLES_KEPT_MS } from "@skerry/contract/host-api/metrics";
import type { Caller } from "../../caller.ts";
import { stateOf, type Context } from "../../context.ts";
import type { Queries } from "../../db/database.ts";
import { hostAddress } from "../../hosts/host-rows.ts";
import { readDurationWithin } from "../../values/durations.ts";
import { readTime } from "../../values/times.ts";
import type { AppWork } from "../app-facts.ts";
import { getAppRow } from "../app-rows.ts";
import { countInMetrics } from "./app-counters.ts";
import { appsOfRoutes } from "../edge/edge-routes.ts";
import type { Lanes } from "../lanes.ts";
import { addRouteTraffic, readRouteMetrics } from "./route-traffic.ts";

type Counted = EdgeTraffic["instances"][number];

interface Collection {
  /** Time of the last one, by this process's clock. */
  atMs: number;
  /** Sums as hosts have told them, by host and instance; a host that was never asked has none. */
  readonly told: Map<string, ToldTraffic>;
}

interface ToldTraffic {
  /** Counts by instance. */
  readonly instances: ReadonlyMap<string, Counted>;
  /** Answers by route. */
  readonly routes: ReadonlyMap<string, AnswerCounts>;
}

export const collectionOf = stateOf((): Collection => ({ atMs: -Infinity, told: new Map() }));

const EVERY_MS = 10_000;

interface Looked {
  readonly apps: readonly AppWork[];
  readonly lanes: Lanes;
  readonly stop: AbortSignal;
}

/** Asks each host that serves instances, if the last time is long enough ago. */
export function collectTraffic(context: Context, { apps, lanes, stop }: Looked): void {
  const collection = collectionOf(context);
  if (performance.now() - collection.atMs < EVERY_MS) return;
  collection.atMs = performance.now();
  const byHost = Map.groupBy(
    apps.flatMap(({ instances }) => instances.filter(({ host_id: host }) => host !== null)),
    ({ host_id: host }) => host ?? "",
  );
  const byId = new Map(apps.map((app) => [app.id, app]));
  for (const [hostId, instances] of byHost) {
    const lane = `traffic of ${hostId}`;
    if (lanes.open.has(lane)) continue;
    const seats = new Map(instances.map((one) => [one.machine_id, one]));
    lanes.begin(lane, () =>
      collectFrom(context, hostId, { seats, apps: byId, stop }).catch((error: unknown) => {
        // The next collection has what this one has not.
        context.log.warn({ err: error, host_id: hostId }, "requests of apps could not be counted");
      }),
    );
  }
}

type Seats = ReadonlyMap<string, Pick<AppWork["instances"][number], "app_id" | "group_name" | "release">>;

interface Collected {
  readonly seats: Seats;
  /** Apps by their ids. */
  readonly apps: ReadonlyMap<string, Pick<AppWork, "id" | "org_id">>;
  readonly stop: AbortSignal;
}

/** Requests that come meanwhile are in the next answer. */
async function collectFrom(
  context: Context,
  hostId: string,
  { seats, apps, stop }: Collected,
): Promise<void> {
  const { told } = collectionOf(context);
  const address = await hostAddress(context.db, hostId);
  // Hosts of versions before do not count.
  const answer =
    address &&
    (await context.hosts
      .client(address)
      .edge.traffic(stop)
      .catch(() => undefined));
  if (!answer) return;
  const before = told.get(hostId);
  const now: ToldTraffic = {
    instances: new Map(answer.instances.map((one) => [keyOf(one), one])),
    // Hosts of versions before count none.
    routes: new Map((answer.routes ?? []).map((one) => [one.route, one])),
  };
  // Another process may have counted what there was before the first answer.
  if (before === undefined) return void told.set(hostId, now);
  const rows = answer.instances.flatMap((one) => {
    const seat = seats.get(one.vm);
    return seat === undefined ? [] : [{ ...seat, ...countsSince(one, before.instances.get(keyOf(one))) }];
  });
  const changed = [...now.routes].flatMap(([route_id, counts]) => {
    const since = answersSince(counts, before.routes.get(route_id));
    return answersOf(since) === 0 ? [] : [{ route_id, ...since }];
  });
  const owners = await appsOfRoutes(
    context.db,
    changed.map(({ route_id }) => route_id),
  );
  const answers = changed.flatMap((one) => {
    const app = apps.get(owners.get(one.route_id) ?? one.route_id);
    return app === undefined ? [] : [{ app_id: app.id, ...one }];
  });
  const counted = {
    rows: rows.filter(({ requests }) => requests > 0),
    answers: answers.filter((one) => answersOf(one) > 0),
  };
  await addTraffic(context.db, counted.rows);
  await addRouteTraffic(context.db, counted.answers);
  countInMetrics(context, { ...counted, orgOf: (id) => apps.get(id)?.org_id });
  told.set(hostId, now);
}

function keyOf({ vm, execution_id }: Counted): string {
  return `${vm} ${execution_id}`;
}

interface Row extends TrafficCounts {
  readonly app_id: string;
  readonly group_name: string;
  readonly release: number;
}

const STEP_S = APP_METRICS_STEP_MS / 1_000;

/** Adds to the step of now, and forgets what is older than a day. */
async function addTraffic(db: Queries, rows: readonly Row[]): Promise<void> {
  const column = (name: keyof Row) => rows.map((row) => row[name]);
  await sql`
    insert into app_traffic (app_id, counted_at, group_name, release, requests, client_errors, server_errors, received_bytes, sent_bytes)
    select app_id, to_timestamp(floor(extract(epoch from now()) / ${STEP_S}) * ${STEP_S}), group_name, release, sum(requests), sum(client_errors), sum(server_errors),
      sum(received_bytes), sum(sent_bytes)
    from unnest(${column("app_id")}::text[], ${column("group_name")}::text[], ${column("release")}::int[],
      ${column("requests")}::bigint[], ${column("client_errors")}::bigint[], ${column("server_errors")}::bigint[],
      ${column("received_bytes")}::bigint[], ${column("sent_bytes")}::bigint[])
      as counted (app_id, group_name, release, requests, client_errors, server_errors, received_bytes, sent_bytes)
    where app_id in (select id from apps)
    group by app_id, group_name, release
    on conflict (app_id, counted_at, group_name, release) do update set
      requests = app_traffic.requests + excluded.requests,
      client_errors = app_traffic.client_errors + excluded.client_errors,
      server_errors = app_traffic.server_errors + excluded.server_errors,
      received_bytes = app_traffic.received_bytes + excluded.received_bytes,
      sent_bytes = app_traffic.sent_bytes + excluded.sent_bytes`.execute(db);
  await sql`delete from app_traffic where counted_at < now() - ${SAMPLES_KEPT_MS} * interval '1 millisecond'`.execute(
    db,
  );
}

/** Errors that are too few say nothing, and so does a part of requests that no user would notice. */
const ERRORS_MIN = 10;
const RATE_MIN = 0.01;

/**
 * Why a watched release goes back for its errors, which are twice the part that the one before had;
 * undefined: it does not.
 */
export async function errorsDoubled(
  db: Queries,
  { id, live, watched }: Pick<AppWork, "id" | "live" | "watched">,
): Promise<string | undefined> {
  if (watched === undefined || watched.finished_at === null) return undefined;
  const { rows } = await sql<{ is_new: boolean; requests: number; errors: number }>`
    select release = ${live} as is_new, sum(requests)::float8 as requests, sum(server_errors)::float8 as errors from app_traffic
    where app_id = ${id} and (
      release = ${live} or (release = ${watched.previous} and counted_at >= ${watched.finished_at}::timestamptz - interval '30 minutes'))
    group by 1`.execute(db);
  const [now, before] = [true, false].map((isNew) => rows.find((row) => row.is_new === isNew));
  if (now === undefined || now.errors < ERRORS_MIN) return undefined;
  const rate = now.errors / now.requests;
  const rateBefore = before === undefined || before.requests === 0 ? 0 : before.errors / before.requests;
  if (rate < RATE_MIN || rate < 2 * rateBefore) return undefined;
  return `${percent(rate)} of its requests were answered with errors of the server, and ${percent(rateBefore)} before it.`;
}

function percent(rate: number): string {
  return `${(rate * 100).toFixed(1)} %`;
}

export async function readAppMetrics(
  context: Context,
  caller: Caller,
  { id, query: { since: from, step } }: { readonly id: string; readonly query: AppMetricsQuery },
): Promise<AppMetrics> {
  await getAppRow(context.db, caller, id);
  const stepMs =
    step === undefined
      ? APP_METRICS_STEP_MS
      : readDurationWithin("step", step, { minMs: APP_METRICS_STEP_MS, maxMs: SAMPLES_KEPT_MS });
  const sinceMs = from === undefined ? 0 : readTime("since", from).getTime();
  const routes = await readRouteMetrics(context.db, id, { sinceMs, stepMs });
  const { rows } = await sql<Omit<AppMetricsPoint, "at"> & { at: Date }>`
    select to_timestamp(floor(extract(epoch from counted_at) * 1000 / ${stepMs}) * ${stepMs} / 1000) as at,
      group_name as "group", release, sum(requests)::float8 as requests, sum(client_errors)::float8 as client_errors,
      sum(server_errors)::float8 as server_errors, sum(received_bytes)::float8 as received_bytes, sum(sent_bytes)::float8 as sent_bytes
    from app_traffic where app_id = ${id} and counted_at >= to_timestamp(${sinceMs} / 1000.0)
    group by 1, 2, 3 order by 1, 2, 3`.execute(context.db);
  return {
    step: formatDuration(stepMs),
    items: rows.map(({ at, ...point }) => ({ at: at.toISOString(), ...point })),
    routes,
  };
}
