// What an organization has had over time.

import { Type, type Static } from "typebox";
import { formatDuration } from "../durations.ts";
import { Duration, Timestamp } from "../fields.ts";
import { exampleOf, named } from "../named.ts";

/** Length of a step: default and shortest, in milliseconds. It is measured once a minute. */
export const USAGE_STEP_DEFAULT_MS = 5 * 60_000;
export const USAGE_STEP_MIN_MS = 60_000;
export const USAGE_STEP_MAX_MS = 24 * 3_600_000;
/** How long it is kept, and how long each minute of it. */
export const USAGE_KEPT_DAYS = 30;
export const USAGE_MINUTES_KEPT_DAYS = 2;
/** After that so many of them are one. */
export const USAGE_MINUTES_MERGED = 10;
/** Steps in one answer. */
export const USAGE_STEPS_MAX = 10_000;

const most = (description: string) => Type.Integer({ minimum: 0, description });

export const UsagePoint = named(
  "UsagePoint",
  {
    at: Type.String({ ...Timestamp, description: "Begin of the step." }),
    sandboxes: most("Most sandboxes at once, as they count for the quota."),
    machines: most("Most machines at once, as they count for the quota."),
    vcpus: most("Most vCPUs at once, of what runs."),
    memory_mib: most("Most memory at once, of what runs, in MiB."),
    disk_gib: most("Most disk at once, also of what is stopped or paused, in GiB."),
    created: Type.Integer({ minimum: 0, description: "Sandboxes and machines made in the step." }),
    denied: Type.Integer({
      minimum: 0,
      description:
        "Packets that egress rules refused in the step, of all sandboxes and machines. It is known within a minute. Connections that were refused by name are in the egress report of the sandbox alone, and what was refused just before a host process died is missing.",
    }),
  },
  {
    at: "2026-11-20T16:20:00.000Z",
    ...{ sandboxes: 412, machines: 38, vcpus: 618, memory_mib: 296_960, disk_gib: 3_600, created: 97 },
    denied: 1_204,
  },
);
export type UsagePoint = Static<typeof UsagePoint>;

export const Usage = named(
  "Usage",
  {
    step: Type.String({ ...Duration }),
    items: Type.Array(UsagePoint, {
      description:
        "Oldest first. A step in which nothing was measured, because no control plane ran, is missing.",
    }),
  },
  { step: formatDuration(USAGE_STEP_DEFAULT_MS), items: [exampleOf(UsagePoint)] },
);
export type Usage = Static<typeof Usage>;

export const UsageQuery = Type.Object(
  {
    since: Type.Optional(
      Type.String({
        maxLength: 40,
        description: "A time in ISO 8601, such as 2026-11-20T16:00:00Z. Default: 24 hours before `until`.",
      }),
    ),
    until: Type.Optional(
      Type.String({ maxLength: 40, description: "The same; steps that begin before it. Default: now." }),
    ),
    step: Type.Optional(
      Type.String({
        ...Duration,
        default: formatDuration(USAGE_STEP_DEFAULT_MS),
        description: `Length of a step, whole minutes from 1m to 24h. There can be ${USAGE_STEPS_MAX} of them.`,
      }),
    ),
  },
  { additionalProperties: false },
);
export type UsageQuery = Static<typeof UsageQuery>;
