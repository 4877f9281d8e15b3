// The sandbox as `/v1` shows it: what a client sends, and what it gets back.

import { Type, type Static } from "typebox";
import {
  Duration,
  Env,
  exampleOf,
  Metadata,
  named,
  Nullable,
  OneOf,
  pageOf,
  PageQuery,
  Timestamp,
} from "./common.ts";
import { exampleIds } from "./example-ids.ts";
import {
  COMMAND_MAX_CHARS,
  EXECUTE_TIMEOUT_DEFAULT_MS,
  EXECUTE_TIMEOUT_MAX_MS,
  LIST_MAX_ENTRIES,
  OUTPUT_MAX_BYTES,
  SANDBOX_TIMEOUT_DEFAULT_MS,
  UPLOAD_MAX_BYTES,
} from "./limits.ts";
import { formatDuration } from "./durations.ts";
import { Egress, EgressRequest } from "./egress.ts";
import { sandboxStatuses } from "./sandbox-states.ts";
import { DEFAULT_SIZE } from "./sizes.ts";

const closed = { additionalProperties: false } as const;

const Status = OneOf(sandboxStatuses);

export const Mode = OneOf(["ephemeral", "persistent"], {
  description: "`ephemeral`: destroyed when its timeout expires.",
});

export const SandboxCreateRequest = named(
  "SandboxCreateRequest",
  {
    template: Type.String({ minLength: 1, maxLength: 100, description: "Template name or id." }),
    name: Type.Optional(
      Type.String({ minLength: 1, maxLength: 100, description: "For people; need not be unique." }),
    ),
    mode: Type.Optional(Mode),
    timeout: Type.Optional(
      Type.String({
        ...Duration,
        default: formatDuration(SANDBOX_TIMEOUT_DEFAULT_MS),
        description: "Time until automatic destruction, at most 24h.",
      }),
    ),
    size: Type.Optional(
      Type.String({ maxLength: 100, default: DEFAULT_SIZE, description: "A name from `GET /v1/sizes`." }),
    ),
    env: Type.Optional(Env),
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

export const Sandbox = named(
  "Sandbox",
  {
    id: Type.String(),
    name: Nullable(Type.String()),
    template: Type.String({ description: "Name of the template." }),
    mode: Mode,
    size: Type.String(),
    status: Status,
    timeout: Duration,
    env: Env,
    metadata: Metadata,
    egress: Egress,
    host_id: Nullable(Type.String()),
    created_at: Timestamp,
    started_at: Nullable(Timestamp),
    expires_at: Timestamp,
    destroyed_at: Nullable(Timestamp),
    reason: Nullable(Type.String({ description: "Why it is failed or destroyed." })),
  },
  {
    id: exampleIds.sandbox,
    name: "build 7",
    template: "base",
    mode: "ephemeral",
    size: "shared-cpu-1x",
    status: "running",
    timeout: "10m",
    env: { GREETING: "hello" },
    metadata: { job: "7" },
    egress: exampleOf(Egress),
    host_id: exampleIds.host,
    created_at: "2026-11-20T16:21:09.123Z",
    started_at: "2026-11-20T16:21:09.423Z",
    expires_at: "2026-11-20T16:31:09.423Z",
    destroyed_at: null,
    reason: null,
  },
);
export type Sandbox = Static<typeof Sandbox>;

export const SandboxList = pageOf(Sandbox, "SandboxList", "c2J4XzAxa2IzeDBxOXZ0NWM3cjJtOG40cDZ3MXl6");
export type SandboxList = Static<typeof SandboxList>;

/** `metadata.KEY=VALUE` filters are read from the query beside these. */
export const SandboxListQuery = Type.Object(
  {
    ...PageQuery.properties,
    status: Type.Optional(Status),
    template: Type.Optional(Type.String({ maxLength: 100 })),
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
          "Time from now until destruction; more than 24h is clamped to 24h. Default: the sandbox's own timeout.",
      }),
    ),
  },
  { timeout: "10m" },
);
export type KeepaliveRequest = Static<typeof KeepaliveRequest>;

export const ExecuteRequest = named(
  "ExecuteRequest",
  {
    command: Type.String({
      minLength: 1,
      maxLength: COMMAND_MAX_CHARS,
      description: "Shell command line, run by `/bin/sh -c` as root.",
      examples: ["echo hello"],
    }),
    timeout: Type.Optional(
      Type.String({
        ...Duration,
        default: formatDuration(EXECUTE_TIMEOUT_DEFAULT_MS),
        description: `At most ${formatDuration(EXECUTE_TIMEOUT_MAX_MS)}; then the command and all its descendants get SIGKILL.`,
      }),
    ),
    workdir: Type.Optional(
      Type.String({ minLength: 1, maxLength: 4_095, description: "Absolute path. Default: `/root`." }),
    ),
    env: Type.Optional(Env),
  },
  { command: "python3 answer.py", workdir: "/work", timeout: "1m" },
);
export type ExecuteRequest = Static<typeof ExecuteRequest>;

/** How a command ended: the whole answer of `execute` but its output, and the `exit` event of a stream. */
const exitFields = {
  exit_code: Type.Integer({ description: "The command's own, or 128 + the signal's number." }),
  duration_ms: Type.Integer({ minimum: 0 }),
  timed_out: Type.Boolean(),
  signal: Nullable(Type.String({ description: "The signal that ended it, for example `SIGKILL`." })),
  oom_killed: Type.Boolean({
    description: "The sandbox ran out of memory and the kernel killed a process of this command.",
  }),
  truncated: Type.Boolean({
    description: `stdout or stderr was longer than ${OUTPUT_MAX_BYTES} bytes; the rest was dropped.`,
  }),
  usage: Type.Object({ cpu_ms: Type.Integer(), memory_peak_bytes: Type.Integer() }, closed),
};

const exampleExit = {
  exit_code: 0,
  duration_ms: 125,
  timed_out: false,
  signal: null,
  oom_killed: false,
  truncated: false,
  usage: { cpu_ms: 101, memory_peak_bytes: 622_592 },
};

export const ExecuteExit = named("ExecuteExit", exitFields, exampleExit);
export type ExecuteExit = Static<typeof ExecuteExit>;

export const ExecuteResponse = named(
  "ExecuteResponse",
  { ...exitFields, stdout: Type.String(), stderr: Type.String() },
  { ...exampleExit, stdout: "42\n", stderr: "" },
);
export type ExecuteResponse = Static<typeof ExecuteResponse>;

export const ExecuteQuery = Type.Object(
  {
    encoding: Type.Optional(
      OneOf(["utf8", "base64"], {
        default: "utf8",
        description: "`utf8`: bytes that are not UTF-8 become U+FFFD. `base64`: the exact bytes.",
      }),
    ),
  },
  closed,
);

export const FileWritten = named(
  "FileWritten",
  {
    path: Type.String({ description: "Absolute path in the sandbox." }),
    size: Type.Integer({ minimum: 0, maximum: UPLOAD_MAX_BYTES }),
  },
  { path: "/work/answer.py", size: 13 },
);
export type FileWritten = Static<typeof FileWritten>;

export const FileQuery = Type.Object(
  {
    list: Type.Optional(Type.Boolean({ description: "List the directory instead of reading a file." })),
  },
  closed,
);

export const FileWriteQuery = Type.Object(
  {
    mode: Type.Optional(
      Type.String({ pattern: "^0?[0-7]{3,4}$", default: "0644", description: "Permissions, octal." }),
    ),
  },
  closed,
);

export const DirectoryEntry = named(
  "DirectoryEntry",
  {
    name: Type.String(),
    size: Type.Integer({ minimum: 0 }),
    type: OneOf(["file", "directory", "symlink", "other"]),
    modified: Timestamp,
  },
  { name: "answer.py", size: 13, type: "file", modified: "2026-11-20T16:21:40.208Z" },
);
export type DirectoryEntry = Static<typeof DirectoryEntry>;

export const DirectoryListing = named(
  "DirectoryListing",
  {
    entries: Type.Array(DirectoryEntry),
    truncated: Type.Boolean({ description: `The directory has more than ${LIST_MAX_ENTRIES} entries.` }),
  },
  { entries: [exampleOf(DirectoryEntry)], truncated: false },
);
export type DirectoryListing = Static<typeof DirectoryListing>;
