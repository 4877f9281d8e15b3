// Requests of an app that were answered with 5xx, by the app or by the proxy in front of it.

import { Type, type Static } from "typebox";
import { Nullable, Timestamp } from "../fields.ts";
import { exampleOf, named } from "../named.ts";

/** Failures of one answer. */
export const APP_FAILURES_MAX = 1_000;

export const AppFailuresQuery = Type.Object(
  {
    since: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 100,
        description: "Only those at or after this time, in ISO 8601. Default: all that are kept.",
      }),
    ),
  },
  { additionalProperties: false },
);
export type AppFailuresQuery = Static<typeof AppFailuresQuery>;

export const AppFailure = named(
  "AppFailure",
  {
    at: Type.String({ ...Timestamp }),
    status: Type.Integer(),
    why: Type.String({ description: "Whose fault it was, in words." }),
    instance: Nullable(Type.String({ description: "Group and number; null: it went to none." })),
    machine_id: Nullable(Type.String()),
    method: Type.String(),
    path: Type.String({ description: "Without its query, at most 300 bytes." }),
    ms: Type.Integer({ description: "Milliseconds from its begin to the end of the answer." }),
    request_id: Type.String({ description: "As `X-Request-Id` of the answer says." }),
  },
  {
    at: "2026-11-20T16:41:09.900Z",
    status: 502,
    why: "the app broke off, or did not answer in HTTP",
    instance: "web.1",
    machine_id: "mch_01kb3x9c1e3g5j7m9p1r3t5v7x",
    method: "GET",
    path: "/cart",
    ms: 12,
    request_id: "0d9f3a52-7c1e-4a66-9b0d-2f6c1b7f1e55",
  },
);
export type AppFailure = Static<typeof AppFailure>;

export const AppFailures = named(
  "AppFailures",
  {
    items: Type.Array(AppFailure, { description: `Oldest first, the last ${APP_FAILURES_MAX}.` }),
    unavailable: Type.Array(Type.String(), {
      description: "Ids of hosts that cannot be asked now, so that what they have kept is missing.",
    }),
  },
  { items: [exampleOf(AppFailure)], unavailable: [] },
);
export type AppFailures = Static<typeof AppFailures>;
