// Requests of an app over time.

import { Type, type Static } from "typebox";
import { formatDuration } from "../durations.ts";
import { Duration, Nullable, Timestamp } from "../fields.ts";
import { exampleOf, named } from "../named.ts";
import { metricsQuery } from "../vms/metrics.ts";
import { ANSWER_TIME_BOUNDS_MS } from "./app-bounds.ts";

/** Length of a step, at least, in milliseconds. */
export const APP_METRICS_STEP_MS = 5 * 60_000;

const count = (description: string) => Type.Integer({ minimum: 0, description });

export const AppMetricsPoint = named(
  "AppMetricsPoint",
  {
    at: Type.String({ ...Timestamp, description: "Begin of the step." }),
    group: Type.String(),
    release: Type.Integer(),
    requests: count("Requests that its instances got in the step."),
    client_errors: count("Answers with 4xx."),
    server_errors: count("Answers with 5xx, and connections that broke off before an answer."),
    received_bytes: count("Received from clients."),
    sent_bytes: count("Sent to clients."),
  },
  {
    at: "2026-11-20T16:20:00.000Z",
    group: "web",
    release: 42,
    requests: 1_204,
    client_errors: 17,
    server_errors: 0,
    received_bytes: 340_112,
    sent_bytes: 9_204_410,
  },
);
export type AppMetricsPoint = Static<typeof AppMetricsPoint>;

/** Length of a step of routes, at least, in milliseconds. */
export const ROUTE_METRICS_STEP_MS = 10 * 60_000;

const percentile = (part: string) =>
  Nullable(
    Type.Integer({
      description: `${part} of the answers began within so many milliseconds: one of the bounds that \`times\` has. Null: it took longer.`,
    }),
  );

export const AppRoutePoint = named(
  "AppRoutePoint",
  {
    at: Type.String({ ...Timestamp, description: "Begin of the step." }),
    route_id: Nullable(Type.String({ description: "Null: the app's own address." })),
    answers: count("Answers of instances. What the proxy answers by itself is not among them."),
    client_errors: count("Those with 4xx."),
    server_errors: count("Those with 5xx."),
    p50_ms: percentile("Half"),
    p95_ms: percentile("19 of 20"),
    p99_ms: percentile("99 of 100"),
    times: Type.Array(Type.Integer({ minimum: 0 }), {
      description: `Answers by the time to their begin: those within ${ANSWER_TIME_BOUNDS_MS.join(", ")} milliseconds, each without those before it, and those beyond.`,
    }),
  },
  {
    at: "2026-11-20T16:20:00.000Z",
    route_id: null,
    ...{ answers: 1_204, client_errors: 17, server_errors: 0, p50_ms: 50, p95_ms: 250, p99_ms: 500 },
    times: [402, 611, 90, 70, 25, 5, 1, 0, 0],
  },
);
export type AppRoutePoint = Static<typeof AppRoutePoint>;

export const AppMetrics = named(
  "AppMetrics",
  {
    step: Type.String({ ...Duration }),
    items: Type.Array(AppMetricsPoint, {
      description: "Oldest first, one for each group and release that had requests.",
    }),
    routes: Type.Array(AppRoutePoint, {
      description: `Oldest first, one for each route that had answers; their steps are at least ${formatDuration(ROUTE_METRICS_STEP_MS)} long.`,
    }),
  },
  {
    step: formatDuration(APP_METRICS_STEP_MS),
    items: [exampleOf(AppMetricsPoint)],
    routes: [exampleOf(AppRoutePoint)],
  },
);
export type AppMetrics = Static<typeof AppMetrics>;

export const AppMetricsQuery = metricsQuery({
  defaultMs: APP_METRICS_STEP_MS,
  leastMs: APP_METRICS_STEP_MS,
});
export type AppMetricsQuery = Static<typeof AppMetricsQuery>;
