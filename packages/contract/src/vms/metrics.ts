// What a VM has used over time.

import { Type, type Static } from "typebox";
import { formatDuration } from "../durations.ts";
import { Duration, Timestamp } from "../fields.ts";
import { exampleOf, named } from "../named.ts";

/** Length of a step: default and shortest, in milliseconds. A host measures once a minute. */
export const METRICS_STEP_DEFAULT_MS = 5 * 60_000;
export const METRICS_STEP_MIN_MS = 60_000;

const bytes = (description: string) => Type.Integer({ minimum: 0, description });

export const VmMetricsPoint = named(
  "VmMetricsPoint",
  {
    at: Type.String({ ...Timestamp, description: "Begin of the step." }),
    cpu_seconds: Type.Number({
      minimum: 0,
      description: "CPU time used in the step, with the work for its devices.",
    }),
    memory_bytes: bytes(
      "Most memory of the host that it had for itself. What it shares with others of its template is not in it.",
    ),
    disk_bytes: bytes("What its own layer of the disk takes on the host, at the end of the step."),
    disk_read_bytes: bytes("Read from disks of the host in the step."),
    disk_written_bytes: bytes("Written to disks of the host in the step."),
    network_received_bytes: bytes("Received by the guest in the step."),
    network_sent_bytes: bytes("Sent by the guest in the step."),
  },
  {
    at: "2026-11-20T16:20:00.000Z",
    cpu_seconds: 12.4,
    memory_bytes: 73_400_320,
    disk_bytes: 1_310_720,
    disk_read_bytes: 4_096,
    disk_written_bytes: 917_504,
    network_received_bytes: 34_000,
    network_sent_bytes: 1_200,
  },
);
export type VmMetricsPoint = Static<typeof VmMetricsPoint>;

export const VmMetrics = named(
  "VmMetrics",
  {
    step: Type.String({ ...Duration }),
    items: Type.Array(VmMetricsPoint, {
      description: "Oldest first. A step in which nothing was measured, as while it was paused, is missing.",
    }),
    damaged: Type.Integer({ minimum: 0, description: "Samples that the host cannot read any more." }),
  },
  { step: formatDuration(METRICS_STEP_DEFAULT_MS), items: [exampleOf(VmMetricsPoint)], damaged: 0 },
);
export type VmMetrics = Static<typeof VmMetrics>;

export function metricsQuery({
  defaultMs,
  leastMs,
}: {
  readonly defaultMs: number;
  readonly leastMs: number;
}) {
  return Type.Object(
    {
      since: Type.Optional(
        Type.String({
          maxLength: 40,
          description:
            "A time in ISO 8601, such as 2026-11-20T16:00:00Z. Default: all that is kept, 24 hours.",
        }),
      ),
      step: Type.Optional(
        Type.String({
          ...Duration,
          default: formatDuration(defaultMs),
          description: `Length of a step, from ${formatDuration(leastMs)} to 24h.`,
        }),
      ),
    },
    { additionalProperties: false },
  );
}

export const VmMetricsQuery = metricsQuery({
  defaultMs: METRICS_STEP_DEFAULT_MS,
  leastMs: METRICS_STEP_MIN_MS,
});
export type VmMetricsQuery = Static<typeof VmMetricsQuery>;
