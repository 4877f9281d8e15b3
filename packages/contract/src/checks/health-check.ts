// Health checks: what requests ask for, what answers show, and what a check has found. The host of a microVM
// runs its check.

import { Type, type Static } from "typebox";
import { formatDuration } from "../durations.ts";
import { Duration, Nullable, OneOf, Timestamp } from "../fields.ts";
import {
  CHECK_COMMAND_MAX_CHARS,
  CHECK_FAILURES_DEFAULT,
  CHECK_FAILURES_MAX,
  CHECK_GRACE_DEFAULT_MS,
  CHECK_GRACE_MAX_MS,
  CHECK_INTERVAL_DEFAULT_MS,
  CHECK_INTERVAL_MAX_MS,
  CHECK_INTERVAL_MIN_MS,
  CHECK_PATH_MAX_CHARS,
  CHECK_TIMEOUT_DEFAULT_MS,
  CHECK_TIMEOUT_MAX_MS,
  CHECK_TIMEOUT_MIN_MS,
  healthStatuses,
} from "./check-bounds.ts";

const closed = { additionalProperties: false } as const;

const from = (minMs: number, maxMs: number) => `from ${formatDuration(minMs)} to ${formatDuration(maxMs)}`;

const duration = (description: string, defaultMs: number) =>
  Type.Optional(Type.String({ ...Duration, description, default: formatDuration(defaultMs) }));

const path = {
  maxLength: CHECK_PATH_MAX_CHARS,
  description:
    "HTTP: the host sends `GET` for this path to `port` of the guest. A status from 200 to 399 passes; a redirect is not followed. Needs `port`.",
} as const;
const port = {
  minimum: 1,
  maximum: 65_535,
  description: "Of the guest. Without `path` it passes when the port takes a connection.",
} as const;
const command = {
  maxLength: CHECK_COMMAND_MAX_CHARS,
  description:
    "Shell command line that is run in the guest by `/bin/sh -c` as root. Exit status 0 passes. In the place of `path` and `port`.",
} as const;

export const checkRequest = Type.Object(
  {
    path: Type.Optional(Type.String({ minLength: 1, ...path })),
    port: Type.Optional(Type.Integer(port)),
    command: Type.Optional(Type.String({ minLength: 1, ...command })),
    interval: duration(
      `From the beginning of one check to that of the next, ${from(CHECK_INTERVAL_MIN_MS, CHECK_INTERVAL_MAX_MS)}.`,
      CHECK_INTERVAL_DEFAULT_MS,
    ),
    timeout: duration(
      `A check that has not passed by then has failed; ${from(CHECK_TIMEOUT_MIN_MS, CHECK_TIMEOUT_MAX_MS)}.`,
      CHECK_TIMEOUT_DEFAULT_MS,
    ),
    failures: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: CHECK_FAILURES_MAX,
        default: CHECK_FAILURES_DEFAULT,
        description: "Failed checks in a row that make it `failing`.",
      }),
    ),
    grace: duration(
      `From the start, until a first check has passed: failed checks do not count; at most ${formatDuration(CHECK_GRACE_MAX_MS)}, \`0s\` for none.`,
      CHECK_GRACE_DEFAULT_MS,
    ),
    restart: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          "Stop the machine when it is `failing`, and start it again by its restart policy, as after a run that failed. With the policy `no` it goes on.",
      }),
    ),
  },
  { ...closed, description: "A `port`, with a `path` or without one, or a `command`." },
);
export type CheckRequest = Static<typeof checkRequest>;

export const checkShown = Type.Object(
  {
    path: Type.Optional(Type.String(path)),
    port: Type.Optional(Type.Integer(port)),
    command: Type.Optional(Type.String(command)),
    interval: Duration,
    timeout: Duration,
    failures: Type.Integer(),
    grace: Duration,
    restart: Type.Boolean(),
  },
  closed,
);
export type CheckShown = Static<typeof checkShown>;

export const healthShown = Type.Object(
  {
    status: OneOf(healthStatuses, {
      description:
        "`starting`: no check has passed since the start, and `grace` is not over. `failing`: `failures` checks in a row have failed. `unknown`: it is not checked now; `reason` says why.",
    }),
    since: Timestamp,
    reason: Nullable(
      Type.String({ description: "Why the check failed last, or why nothing is known; null: it passed." }),
    ),
    last_checked_at: Nullable({
      ...Timestamp,
      description: "The check that brought this status or reason: hosts tell changes, not each check.",
    }),
  },
  closed,
);
export type Health = Static<typeof healthShown>;
