// A route: a name and the beginning of a path, and the group of an app whose instances get the requests.

import { Type, type Static } from "typebox";
import { exampleIds } from "../example-ids.ts";
import { Nullable, Timestamp } from "../fields.ts";
import { named } from "../named.ts";
import { pageOf } from "../page.ts";
import { CONCURRENCY_MAX, PREFIX_SEGMENTS_MAX, RATE_LIMIT_MAX } from "./app-bounds.ts";
import { Group } from "./release.ts";

const bounded = (maximum: number, description: string) => Type.Integer({ minimum: 1, maximum, description });

const rateLimit = bounded(
  RATE_LIMIT_MAX,
  "Requests in a second of each client's address on one host; more are answered 429.",
);
const port = Type.Integer({
  minimum: 1,
  maximum: 65_535,
  description: "Port of the group's instances. Default: that of its service, whose check counts for it too.",
});
const concurrency = bounded(
  CONCURRENCY_MAX,
  "Requests that one instance works on at once; the others wait for ten seconds at most.",
);
const stripPrefix = Type.Boolean({
  default: false,
  description: "Instances get the path without the prefix.",
});
const sticky = Type.Boolean({
  default: false,
  description:
    "Requests of one client go to one instance while that serves, by the cookie `skerry_instance`.",
});
const Prefix = Type.String({
  maxLength: 500,
  pattern: "^/([A-Za-z0-9._~-]+/?)*$",
  description: `Whole segments of the path, at most ${PREFIX_SEGMENTS_MAX}. The longest that fits counts.`,
});

export const RouteCreateRequest = named(
  "RouteCreateRequest",
  {
    host: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 253,
        description: "The app's own name, or one below it, such as `api.shop.localhost`. Default: its own.",
      }),
    ),
    path_prefix: Type.Optional({ ...Prefix, default: "/" }),
    group: { ...Group, description: "A group that has a service; until it has, the route leads nowhere." },
    port: Type.Optional(port),
    strip_prefix: Type.Optional(stripPrefix),
    sticky: Type.Optional(sticky),
    rate_limit: Type.Optional(rateLimit),
    concurrency: Type.Optional(concurrency),
  },
  { path_prefix: "/api", group: "api", strip_prefix: true },
);
export type RouteCreateRequest = Static<typeof RouteCreateRequest>;

export const Route = named(
  "Route",
  {
    id: Type.String(),
    app_id: Type.String(),
    host: Nullable(Type.String({ description: "Null: another organization's app has the name." })),
    path_prefix: Prefix,
    group: Group,
    port: Nullable(Type.Integer()),
    strip_prefix: Type.Boolean(),
    sticky: Type.Boolean(),
    rate_limit: Nullable(Type.Integer()),
    concurrency: Nullable(Type.Integer()),
    created_at: Timestamp,
  },
  {
    id: exampleIds.route,
    app_id: exampleIds.app,
    host: "shop.localhost",
    path_prefix: "/api/",
    group: "api",
    port: null,
    strip_prefix: true,
    sticky: false,
    rate_limit: null,
    concurrency: null,
    created_at: "2026-11-20T16:41:08.123Z",
  },
);
export type Route = Static<typeof Route>;

/** The cursor is unused, because an app has few. */
export const RouteList = pageOf(Route, "RouteList");
