// What E2B's clients send about sandboxes. A field that is not here is refused, so that a client learns that it has no effect.

import { Type, type Static } from "typebox";
import { checker } from "./checked-body.ts";

const closed = { additionalProperties: false } as const;
const Seconds = Type.Integer({ minimum: 0, maximum: 2_147_483_647 });
const Texts = Type.Record(Type.String(), Type.String());

/** Seconds that a sandbox gets from a request that says nothing of them. */
export const timeoutDefaults = { v1: 15, v2: 300 } as const;

const Networks = Type.Array(Type.String({ maxLength: 300 }), { maxItems: 1_000 });
const Rules = Type.Record(
  Type.String({ maxLength: 300 }),
  Type.Array(
    Type.Object({ transform: Type.Optional(Type.Object({ headers: Type.Optional(Texts) }, closed)) }, closed),
    { maxItems: 100 },
  ),
);
const PORT_MAX = 65_535;
const HTTPS_PORTS_MAX = 100;
const Network = Type.Object(
  {
    allowOut: Type.Optional(Networks),
    denyOut: Type.Optional(Networks),
    rules: Type.Optional(Rules),
    allowPublicTraffic: Type.Optional(Type.Boolean()),
    httpsPorts: Type.Optional(
      Type.Array(Type.Integer({ minimum: 1, maximum: PORT_MAX }), { maxItems: HTTPS_PORTS_MAX }),
    ),
    // It becomes a header field.
    maskRequestHost: Type.Optional(Type.String({ pattern: "^[A-Za-z0-9._:\\[\\]${}-]{1,255}$" })),
  },
  closed,
);

const NewSandbox = Type.Object(
  {
    templateID: Type.String({ minLength: 1, maxLength: 300 }),
    timeout: Type.Optional(Seconds),
    autoPause: Type.Optional(Type.Boolean()),
    secure: Type.Optional(Type.Boolean()),
    allow_internet_access: Type.Optional(Type.Boolean()),
    network: Type.Optional(Network),
    autoPauseMemory: Type.Optional(Type.Boolean()),
    autoResume: Type.Optional(Type.Object({ enabled: Type.Boolean() }, closed)),
    metadata: Type.Optional(Texts),
    envVars: Type.Optional(Texts),
    // Told, and of no effect: the client starts the gateway itself, by a command.
    mcp: Type.Optional(Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()])),
  },
  closed,
);
export type NewSandbox = Static<typeof NewSandbox>;

const WithTimeout = Type.Object({ timeout: Type.Optional(Seconds) }, closed);
const Connect = Type.Object(
  { timeout: Type.Optional(Seconds), memory: Type.Optional(Type.Boolean()) },
  closed,
);
const Resume = Type.Object(
  { timeout: Type.Optional(Seconds), autoPause: Type.Optional(Type.Boolean()) },
  closed,
);
const NetworkUpdate = Type.Object(
  {
    allowOut: Type.Optional(Networks),
    denyOut: Type.Optional(Networks),
    rules: Type.Optional(Rules),
    allow_internet_access: Type.Optional(Type.Boolean()),
  },
  closed,
);
const Refresh = Type.Object(
  { duration: Type.Optional(Type.Integer({ minimum: 0, maximum: 3_600 })) },
  closed,
);

const State = Type.String({ maxLength: 100 });
const ListQuery = Type.Object(
  {
    metadata: Type.Optional(Type.String({ maxLength: 10_000 })),
    // Several are separated by commas, or each has the parameter to itself.
    state: Type.Optional(Type.Union([State, Type.Array(State, { maxItems: 10 })])),
    startedAfter: Type.Optional(Type.String({ maxLength: 100 })),
    template: Type.Optional(Type.String({ maxLength: 300 })),
    order: Type.Optional(Type.Union([Type.Literal("asc"), Type.Literal("desc")])),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
    nextToken: Type.Optional(Type.String({ maxLength: 1_000 })),
  },
  closed,
);
export type ListQuery = Static<typeof ListQuery>;

export const readNewSandbox = checker(NewSandbox, "body");
export const readListQuery = checker(ListQuery, "querystring");
export const readRefresh = checker(Refresh, "body");
export const readConnect = checker(Connect, "body");
export const readResume = checker(Resume, "body");
export const readNetworkUpdate = checker(NetworkUpdate, "body");
export const readPause = checker(Type.Object({ memory: Type.Optional(Type.Boolean()) }, closed), "body");

const readWithTimeout = checker(WithTimeout, "body");

/** In seconds. */
export function readTimeout(body: unknown): number | undefined {
  return readWithTimeout(body).timeout;
}

/** A duration of ours. One of no time ends at once: that is as little as there is. */
export function durationOf(seconds: number = timeoutDefaults.v1): string {
  return seconds === 0 ? "1ms" : `${seconds}s`;
}
