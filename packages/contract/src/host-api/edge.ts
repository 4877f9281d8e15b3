// The proxy in front of apps, on a host that serves them. Control sends all that it is to serve as one
// document. The host keeps the document and its proxy runs on by itself, so that requests are served while
// control, its database or the host process are away. Requests for instances on other hosts are passed on to
// the proxies there, over TLS with the certificates of hosts.
//
//   PUT    /edge      EdgeDocument      EdgeState; an earlier document than the one there changes nothing
//   GET    /edge                        EdgeState
//   GET    /edge/traffic                EdgeTraffic
//   GET    /edge/failures?app&since     EdgeFailures, of requests since then in milliseconds, oldest first
//
// Hosts of versions before it do not know these calls.

import { Type, type Static } from "typebox";
import {
  ANSWER_TIME_BOUNDS_MS,
  CONCURRENCY_MAX,
  EDGE_BACKENDS_MAX,
  EDGE_INSTANCES_MAX,
  EDGE_ROUTES_MAX,
  RATE_LIMIT_MAX,
  TCP_PORTS_MAX,
} from "../apps/app-bounds.ts";
import { Nullable, OneOf, Timestamp } from "../fields.ts";

const closed = { additionalProperties: false } as const;
const Port = Type.Integer({ minimum: 1, maximum: 65_535 });

const instance = {
  vm: Type.String({ maxLength: 64 }),
  execution_id: Type.String({ maxLength: 64 }),
  port: Port,
};

export const EdgeInstance = Type.Object(
  {
    ...instance,
    /** A draining one gets no new requests, and goes on with those that it has. */
    state: OneOf(["serving", "draining"]),
  },
  closed,
);
export type EdgeInstance = Static<typeof EdgeInstance>;

export const EdgeDocument = Type.Object(
  {
    version: Type.Integer({ minimum: 0 }),
    backends: Type.Array(
      Type.Object(
        {
          id: Type.String({ maxLength: 100 }),
          /** `h2`: without TLS, as gRPC has it. `tcp`: connections as they are. */
          protocol: OneOf(["http", "h2", "tcp"]),
          /** Requests of one client go to one instance, by a cookie. */
          sticky: Type.Optional(Type.Boolean()),
          /** Requests that one instance works on at once; the others wait. */
          concurrency: Type.Optional(Type.Integer({ minimum: 1, maximum: CONCURRENCY_MAX })),
          instances: Type.Array(EdgeInstance, { maxItems: EDGE_INSTANCES_MAX }),
          /** Other hosts that serve it, with how many instances, by their ids. */
          elsewhere: Type.Optional(
            Type.Record(Type.String(), Type.Integer({ minimum: 1, maximum: EDGE_INSTANCES_MAX })),
          ),
        },
        closed,
      ),
      { maxItems: EDGE_BACKENDS_MAX },
    ),
    routes: Type.Array(
      Type.Object(
        {
          /** A name in lower case. */
          host: Type.String({ maxLength: 253, pattern: "^[a-z0-9.-]+$" }),
          /** Begins and ends with a slash. The longest one that the path begins with counts. */
          path_prefix: Type.String({ maxLength: 512, pattern: "^/([A-Za-z0-9._~!$&'()*+,;=:@%-]+/)*$" }),
          backend: Type.String({ maxLength: 100 }),
          /** The app that it is of, and its own id, for what is counted and kept of its requests. */
          app: Type.Optional(Type.String({ maxLength: 64, pattern: "^[a-z0-9_]*$" })),
          id: Type.Optional(Type.String({ maxLength: 64, pattern: "^[a-z0-9_]*$" })),
          /** Requests come without the prefix. */
          strip_prefix: Type.Optional(Type.Boolean()),
          /** It is answered with 503, and no instance gets it. */
          maintenance: Type.Optional(Type.Boolean()),
          /** Requests in a second of each client's address. */
          rate_limit: Type.Optional(Type.Integer({ minimum: 1, maximum: RATE_LIMIT_MAX })),
        },
        closed,
      ),
      { maxItems: EDGE_ROUTES_MAX },
    ),
    /** Ports that the host listens on for plain TCP, and backends that they lead to. */
    tcp: Type.Optional(
      Type.Object(
        {
          first: Port,
          last: Port,
          ports: Type.Array(Type.Object({ port: Port, backend: Type.String({ maxLength: 100 }) }, closed), {
            maxItems: TCP_PORTS_MAX,
          }),
        },
        closed,
      ),
    ),
    /** ADDRESS:PORT at which other hosts take requests that are passed on, by their ids. */
    peers: Type.Optional(Type.Record(Type.String(), Type.String({ maxLength: 100 }))),
  },
  closed,
);
export type EdgeDocument = Static<typeof EdgeDocument>;

export const EdgeState = Type.Object(
  {
    /** Version of the document that is served. 0: none. */
    version: Type.Integer({ minimum: 0 }),
    /** Why the last document is not served. */
    fault: Nullable(Type.String()),
    instances: Type.Array(
      Type.Object(
        {
          ...instance,
          backend: Type.String(),
          /** `out`: its check fails, or its VM does not run here, and requests go to others. */
          status: OneOf(["serving", "draining", "out"]),
          /** Requests and connections that it has now. */
          sessions: Type.Integer({ minimum: 0 }),
        },
        closed,
      ),
    ),
  },
  closed,
);
export type EdgeState = Static<typeof EdgeState>;

const Count = Type.Integer({ minimum: 0 });

export const EdgeTraffic = Type.Object(
  {
    /** Since the host's process has begun, or since it has first seen the instance. */
    instances: Type.Array(
      Type.Object(
        {
          vm: Type.String(),
          execution_id: Type.String(),
          requests: Count,
          /** Answers with 4xx. */
          client_errors: Count,
          /** Answers with 5xx, and connections that broke off before an answer. */
          server_errors: Count,
          received_bytes: Count,
          sent_bytes: Count,
        },
        closed,
      ),
    ),
    /** Answers of apps since then, by the ids of routes. */
    routes: Type.Optional(
      Type.Array(
        Type.Object(
          {
            route: Type.String(),
            /** Counts by the time to their begin, within each of `ANSWER_TIME_BOUNDS_MS`, and beyond. */
            times: Type.Array(Count, {
              minItems: ANSWER_TIME_BOUNDS_MS.length + 1,
              maxItems: ANSWER_TIME_BOUNDS_MS.length + 1,
            }),
            client_errors: Count,
            server_errors: Count,
          },
          closed,
        ),
      ),
    ),
  },
  closed,
);
export type EdgeTraffic = Static<typeof EdgeTraffic>;

/** Failures of one answer, the last ones. */
export const EDGE_FAILURES_MAX = 2_000;

/** A request that was answered with 5xx, by an app or by the proxy. */
export const EdgeFailure = Type.Object(
  {
    at: Timestamp,
    /** The instance that it went to; null: none. */
    vm: Nullable(Type.String()),
    status: Type.Integer(),
    /** How it ended, in the two letters of HAProxy's log. */
    end: Type.String(),
    /** Time of the whole. */
    ms: Type.Integer(),
    method: Type.String(),
    /** Without its query. */
    path: Type.String(),
    request_id: Type.String(),
  },
  closed,
);
export type EdgeFailure = Static<typeof EdgeFailure>;

export const EdgeFailures = Type.Object({ failures: Type.Array(EdgeFailure) }, closed);
export type EdgeFailures = Static<typeof EdgeFailures>;
