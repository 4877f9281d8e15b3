// The sandbox as `/v1` shows it: what a client sends, and what it gets back.

import { Type, type Static } from "typebox";
import { Duration, Env, Metadata, MetadataChange, Nullable, OneOf, ShownEnv, Timestamp } from "../fields.ts";
import { exampleOf, named } from "../named.ts";
import { countedPageOf, PageQuery } from "../page.ts";
import { WaitsFor } from "../waits-for.ts";
import { exampleIds } from "../example-ids.ts";
import { SANDBOX_TIMEOUT_DEFAULT_MS, TEMPLATE_REFERENCE_MAX_CHARS } from "../bounds.ts";
import { formatDuration } from "../durations.ts";
import { Egress, EgressRequest } from "../vms/egress.ts";
import { vmListFilters } from "../vms/list-filters.ts";
import { NewVmName } from "../vms/name.ts";
import { shownOwner } from "../vms/owner.ts";
import { secretsRequest, shownSecrets } from "../vms/secrets.ts";
import { sandboxModes, sandboxStatuses } from "./sandbox-status.ts";
import { DEFAULT_SIZE } from "../sizes.ts";

const closed = { additionalProperties: false } as const;

const Status = OneOf(sandboxStatuses);

export const Mode = OneOf(sandboxModes, {
  description:
    "`ephemeral`: destroyed when its timeout expires. `persistent`: paused then, with its memory and its disk, and resumed by the next call into it.",
});

export const SandboxCreateRequest = named(
  "SandboxCreateRequest",
  {
    template: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: TEMPLATE_REFERENCE_MAX_CHARS,
        description:
          "Template name or id, such as `base`; `GET /v1/templates` lists them. Either this or `snapshot` is needed.",
      }),
    ),
    snapshot: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 100,
        description:
          "Id or name of a snapshot to begin at, in the place of a template. Template and size are those of the snapshot.",
      }),
    ),
    name: Type.Optional(NewVmName),
    mode: Type.Optional(Mode),
    timeout: Type.Optional(
      Type.String({
        ...Duration,
        default: formatDuration(SANDBOX_TIMEOUT_DEFAULT_MS),
        description:
          "Time until it is destroyed, or where it is persistent paused; at most 24h. It begins anew when the sandbox is resumed.",
      }),
    ),
    pause_after_idle: Type.Optional(
      Type.String({
        ...Duration,
        description:
          "Only of a persistent one: it is paused when nothing has used it for so long, at least 10s and at most 24h. A call into it, a stream, a terminal, a connection to a port and an execution that runs are uses; what only runs in the background is none. Without it only the timeout pauses it.",
      }),
    ),
    auto_resume: Type.Optional(
      Type.Boolean({
        default: true,
        description: "Whether a call into it resumes it while it is paused; otherwise only `resume` does.",
      }),
    ),
    size: Type.Optional(
      Type.String({ maxLength: 100, default: DEFAULT_SIZE, description: "A name from `GET /v1/sizes`." }),
    ),
    env: Type.Optional(Env),
    secrets: Type.Optional(secretsRequest),
    metadata: Type.Optional(Metadata),
    egress: Type.Optional(EgressRequest),
  },
  {
    template: "base",
    timeout: "10m",
    env: { GREETING: "hello" },
    metadata: { job: "7" },
  },
);
export type SandboxCreateRequest = Static<typeof SandboxCreateRequest>;

export const SandboxUpdateRequest = named(
  "SandboxUpdateRequest",
  {
    name: Type.Optional(Nullable(NewVmName)),
    metadata: Type.Optional(MetadataChange),
    pause_after_idle: Type.Optional(
      Nullable(Duration, {
        description:
          "Only of a persistent one: it is paused when nothing has used it for so long, at least 10s and at most 24h. Null: only its timeout pauses it.",
      }),
    ),
    auto_resume: Type.Optional(
      Type.Boolean({
        description: "Whether a call into it resumes it while it is paused; otherwise only `resume` does.",
      }),
    ),
  },
  { name: "desk", metadata: { job: "8", draft: null }, pause_after_idle: "30m" },
);
export type SandboxUpdateRequest = Static<typeof SandboxUpdateRequest>;

export const Sandbox = named(
  "Sandbox",
  {
    id: Type.String(),
    name: Nullable(Type.String()),
    owner: shownOwner,
    template: Type.String({ description: "Name of the template." }),
    mode: Mode,
    size: Type.String(),
    status: Status,
    timeout: Type.String({
      ...Duration,
      description:
        "As it was created with. A keepalive moves `expires_at` and leaves this as it is; without a timeout of its own it is for this long.",
    }),
    pause_after_idle: Nullable(
      Type.String({ ...Duration, description: "It is paused when nothing has used it for so long." }),
    ),
    auto_resume: Type.Boolean({ description: "A call into it resumes it while it is paused." }),
    env: ShownEnv,
    secrets: shownSecrets,
    metadata: Metadata,
    egress: Egress,
    host_id: Nullable(Type.String()),
    snapshot_id: Nullable(
      Type.String({
        description: "The snapshot that it comes from, or that was taken of it last. It may be deleted.",
      }),
    ),
    created_at: Timestamp,
    started_at: Nullable(Timestamp),
    expires_at: Type.String({
      ...Timestamp,
      description:
        "When it is destroyed, or where it is persistent paused; a keepalive moves it. Of a paused one it is past, and resuming sets it anew.",
    }),
    paused_at: Nullable(
      Type.String({ ...Timestamp, description: "Since when it is paused; null where it is not." }),
    ),
    destroyed_at: Nullable(Timestamp),
    waits_for: Nullable(WaitsFor, {
      description: "What keeps it from what was asked for last; null: nothing does.",
    }),
    reason: Nullable(
      Type.String({
        description:
          "Why it is unreachable, failed or destroyed, or why it could not be paused and runs on. An unreachable one may come back with its host.",
      }),
    ),
  },
  {
    id: exampleIds.sandbox,
    name: "build 7",
    owner: null,
    template: "base",
    mode: "ephemeral",
    size: "shared-cpu-1x",
    status: "running",
    timeout: "10m",
    pause_after_idle: null,
    auto_resume: true,
    env: { GREETING: "hello" },
    secrets: [{ name: "API_KEY", as: "API_KEY", version: 2, given_at: "2026-11-20T16:21:09.123Z" }],
    metadata: { job: "7" },
    egress: exampleOf(Egress),
    host_id: exampleIds.host,
    snapshot_id: null,
    created_at: "2026-11-20T16:21:09.123Z",
    started_at: "2026-11-20T16:21:09.423Z",
    expires_at: "2026-11-20T16:31:09.423Z",
    paused_at: null,
    destroyed_at: null,
    reason: null,
    waits_for: null,
  },
);
export type Sandbox = Static<typeof Sandbox>;

export const SandboxList = countedPageOf(Sandbox, "SandboxList", {
  statuses: sandboxStatuses,
  exampleCursor: "c2J4XzAxa2IzeDBxOXZ0NWM3cjJtOG40cDZ3MXl6",
});
export type SandboxList = Static<typeof SandboxList>;

/** `metadata.KEY=VALUE` filters are read from the query beside these. */
export const SandboxListQuery = Type.Object(
  {
    ...PageQuery.properties,
    status: Type.Optional(Status),
    ...vmListFilters,
    alive: Type.Optional(
      Type.Boolean({ description: "`true`: only those that have neither failed nor been destroyed." }),
    ),
  },
  { ...closed, patternProperties: { "^metadata\\..+$": { type: "string" } } },
);
export type SandboxListQuery = Static<typeof SandboxListQuery>;

export const KeepaliveRequest = named(
  "KeepaliveRequest",
  {
    timeout: Type.Optional(
      Type.String({
        ...Duration,
        description:
          "Time from now until it is destroyed, or where it is persistent paused; more than 24h is clamped to 24h. Default: the sandbox's own timeout.",
      }),
    ),
  },
  { timeout: "10m" },
);
export type KeepaliveRequest = Static<typeof KeepaliveRequest>;

export const SandboxForks = named(
  "SandboxForks",
  { items: Type.Array(Sandbox) },
  { items: [exampleOf(Sandbox)] },
);
export type SandboxForks = Static<typeof SandboxForks>;
