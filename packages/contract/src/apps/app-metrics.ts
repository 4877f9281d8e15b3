// Requests of an app over time.

import { Type, type Static } from "typebox";
import { formatDuration } from "../durations.ts";
import { Duration, Timestamp } from "../fields.ts";
import { exampleOf, named } from "../named.ts";
import { metricsQuery } from "../vms/metrics.ts";

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

export const AppMetrics = named(
  "AppMetrics",
  {
    step: Type.String({ ...Duration }),
    items: Type.Array(AppMetricsPoint, {
      description: "Oldest first, one for each group and release that had requests.",
    }),
  },
  { step: formatDuration(APP_METRICS_STEP_MS), items: [exampleOf(AppMetricsPoint)] },
);
export type AppMetrics = Static<typeof AppMetrics>;

export const AppMetricsQuery = metricsQuery({
  defaultMs: APP_METRICS_STEP_MS,
  leastMs: APP_METRICS_STEP_MS,
});
export type AppMetricsQuery = Static<typeof AppMetricsQuery>;
