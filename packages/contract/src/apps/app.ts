// An app: groups of instances that run its release, behind an address of its own.

import { Type, type Static } from "typebox";
import { exampleIds } from "../example-ids.ts";
import { EnvChange, Nullable, OneOf, Timestamp } from "../fields.ts";
import { exampleOf, named } from "../named.ts";
import { pageOf } from "../page.ts";
import { APP_NAME_PATTERN, GROUP_PATTERN, GROUPS_MAX, SCALE_MAX } from "./app-bounds.ts";
import { Deploy } from "./deploy.ts";
import { LogForward, LogForwardWish } from "./log-forward.ts";

const MAINTENANCE = "Requests are answered with 503 `app_in_maintenance`, and its instances get none.";
const closed = { additionalProperties: false } as const;

export const Scale = Type.Record(
  Type.String({ pattern: GROUP_PATTERN }),
  Type.Integer({ minimum: 0, maximum: SCALE_MAX }),
  {
    maxProperties: GROUPS_MAX,
    description: `Instances of each group, at most ${SCALE_MAX}. Groups that are left out have one.`,
  },
);

export const AppCreateRequest = named(
  "AppCreateRequest",
  {
    name: Type.String({
      pattern: APP_NAME_PATTERN,
      description: "Letters, digits and dashes: it is part of the app's address.",
    }),
    scale: Type.Optional(Scale),
  },
  { name: "shop" },
);
export type AppCreateRequest = Static<typeof AppCreateRequest>;

export const AppUpdateRequest = named(
  "AppUpdateRequest",
  {
    scale: Type.Optional({ ...Scale, description: "Of these groups; the others stay as they are." }),
    maintenance: Type.Optional(Type.Boolean({ description: MAINTENANCE })),
    env_changes: Type.Optional({
      ...EnvChange,
      description:
        "Variables for the next deploy, beside those that wait for it already: its release has them set, or without them where they are null. A deploy of an earlier release leaves them waiting, and one that fails has them wait again.",
    }),
    log_forward: Type.Optional(
      Nullable(LogForwardWish, {
        description:
          "Sends the lines of its log from now on to a receiver, each at least once; null: to none. Needs `secrets:read` with a `header`.",
      }),
    ),
  },
  { scale: { web: 3 } },
);
export type AppUpdateRequest = Static<typeof AppUpdateRequest>;

export const instanceStates = ["starting", "serving", "draining", "failed"] as const;

const AppInstance = Type.Object(
  {
    machine_id: Type.String(),
    name: Type.String({ description: "Group and number, such as `web.3`." }),
    release: Type.Integer(),
    state: OneOf(instanceStates, {
      description:
        "`serving`: it is well, and a group with a service gets requests. `failed`: it was part of a deploy that failed, and is kept for its log.",
    }),
    fault: Nullable(
      Type.String({
        description:
          "Why it is not well: its check fails, or its host's proxy gives it no requests. Another one takes its place after some time. Null: nothing is known against it.",
      }),
    ),
    created_at: Timestamp,
  },
  closed,
);

export const App = named(
  "App",
  {
    id: Type.String(),
    name: Type.String(),
    status: OneOf(["active", "deleting"]),
    host: Nullable(
      Type.String({
        description:
          "The name under which hosts serve it: the app's own, below `SKERRY_APPS_DOMAIN`. Null: another organization's app has the name.",
      }),
    ),
    url: Nullable(Type.String({ description: "The address under which a host serves it." })),
    ports: Type.Array(Type.Object({ group: Type.String(), port: Type.Integer() }, closed), {
      description: "Ports of hosts that lead to groups whose service is plain TCP.",
    }),
    scale: Scale,
    maintenance: Type.Boolean({ description: MAINTENANCE }),
    staged_variables: Type.Object(
      { set: Type.Array(Type.String()), unset: Type.Array(Type.String()) },
      { ...closed, description: "Names of variables that the next deploy sets or takes away." },
    ),
    log_forward: Nullable(LogForward, { description: "The receiver of its log." }),
    release: Nullable(
      Type.Integer({ description: "Number of the release that is live; null: none is yet." }),
    ),
    deploy: Nullable(Type.Object(Deploy.properties, closed), { description: "The last one." }),
    instances: Type.Array(AppInstance),
    created_at: Timestamp,
  },
  {
    id: exampleIds.app,
    name: "shop",
    status: "active",
    host: "shop.localhost",
    url: "http://shop.localhost:7080",
    ports: [],
    scale: { web: 1 },
    maintenance: false,
    staged_variables: { set: ["LOG_LEVEL"], unset: [] },
    log_forward: {
      url: "https://logs.example.com/v1/logs",
      header: { name: "Authorization", secret: "LOGS_TOKEN" },
      since: "2026-11-20T16:41:10.123Z",
      fault: null,
    },
    release: 42,
    deploy: { ...exampleOf(Deploy), status: "live", finished_at: "2026-11-20T16:41:12.123Z" },
    instances: [
      {
        machine_id: "mch_01kb3x9c1e3g5j7m9p1r3t5v7x",
        name: "web.1",
        release: 42,
        state: "serving",
        fault: null,
        created_at: "2026-11-20T16:41:09.123Z",
      },
    ],
    created_at: "2026-11-20T16:41:08.123Z",
  },
);
export type App = Static<typeof App>;

export const AppList = pageOf(App, "AppList");
