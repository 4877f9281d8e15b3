// Commands that run on when their reader goes: executions of a sandbox or a machine.

import { Type, type Static } from "typebox";
import {
  COMMAND_MAX_CHARS,
  DETACHED_STDIN_MAX_BYTES,
  EXECUTION_TIMEOUT_MAX_MS,
  EXECUTION_WINDOW_BYTES,
  REATTACH_MAX_MS,
} from "../bounds.ts";
import { formatDuration } from "../durations.ts";
import { Duration, Nullable, OneOf, Timestamp } from "../fields.ts";
import { named } from "../named.ts";
import { pageOf } from "../page.ts";
import { exampleIds } from "../example-ids.ts";
import { ExecuteExit, ExecuteRequest } from "./execute.ts";
import { executionSignalNames } from "./execution-signals.ts";

const closed = { additionalProperties: false } as const;

const Position = Type.Integer({ minimum: 0 });
const Cells = Type.Integer({ minimum: 1, maximum: 65_535 });

export const Execution = named(
  "Execution",
  {
    id: Type.String(),
    pid: Nullable(
      Type.Integer({
        minimum: 1,
        description: "Number of its process in the microVM; null where it has ended.",
      }),
    ),
    command: Type.String({ description: "Its first 1,024 bytes." }),
    status: OneOf(["running", "exited"]),
    detached: Type.Boolean({ description: "It lives without a reader." }),
    reattach: Nullable(
      Type.String({
        description: "How long it lives without a reader; null: as long as it likes, or not at all.",
      }),
    ),
    timeout: Nullable(Type.String({ description: "After which it is killed; null for none." })),
    tty: Type.Boolean({ description: "It has a terminal." }),
    stdin: Type.Boolean({ description: "It can be sent input." }),
    position: Type.Integer({
      ...Position,
      description: "Bytes of stdout and stderr together that it has written.",
    }),
    kept_from: Type.Integer({
      ...Position,
      description: `The position of the first byte that is kept. The last ${EXECUTION_WINDOW_BYTES} bytes are, where the microVM has the memory.`,
    }),
    started_at: Timestamp,
    ended_at: Nullable(Timestamp),
    exit: Nullable(Type.Object(ExecuteExit.properties, { additionalProperties: false }), {
      description: "How it ended; null while it runs.",
    }),
  },
  {
    id: exampleIds.execution,
    pid: 412,
    command: "python3 train.py",
    status: "running",
    detached: true,
    reattach: null,
    timeout: null,
    tty: false,
    stdin: false,
    position: 48_213,
    kept_from: 0,
    started_at: "2026-11-20T16:21:09.123Z",
    ended_at: null,
    exit: null,
  },
);
export type Execution = Static<typeof Execution>;

export const ExecutionList = pageOf(Execution, "ExecutionList");
export type ExecutionList = Static<typeof ExecutionList>;

const { command, workdir, env } = ExecuteRequest.properties;

export const ExecutionRequest = named(
  "ExecutionRequest",
  {
    command,
    workdir,
    env,
    timeout: Type.Optional(
      Type.String({
        ...Duration,
        description: `At most ${formatDuration(EXECUTION_TIMEOUT_MAX_MS)}; then the command and all its descendants get SIGKILL. Default: none (\`0s\`), so it ends with its microVM at the latest.`,
      }),
    ),
    reattach: Type.Optional(
      Type.String({
        ...Duration,
        examples: ["30s"],
        description: `How long it lives without a reader, at most ${formatDuration(REATTACH_MAX_MS)}; the first one has 30s. Default: as long as it likes.`,
      }),
    ),
    keep_output: ExecuteRequest.properties.keep_output,
    destroy_sandbox: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          "The sandbox is destroyed when the command has ended, and its output is kept as with `keep_output`. Needs `sandboxes:write`.",
      }),
    ),
    stdin_open: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          "Its standard input stays open, and reads what is sent to `stdin`. Otherwise it is empty.",
      }),
    ),
    tty: Type.Optional(
      Type.Boolean({
        default: false,
        description: "It gets a terminal: all its output is stdout, and its input is open.",
      }),
    ),
    cols: Type.Optional(Type.Integer({ ...Cells, default: 80, description: "Of the terminal." })),
    rows: Type.Optional(Type.Integer({ ...Cells, default: 24, description: "Of the terminal." })),
  },
  { command: "python3 train.py", workdir: "/work" },
);
export type ExecutionRequest = Static<typeof ExecutionRequest>;

export const KillRequest = named(
  "KillRequest",
  {
    signal: Type.Optional(
      OneOf(executionSignalNames, {
        default: "TERM",
        description: "Sent to the process group of the command; `KILL` to all that it has started.",
      }),
    ),
  },
  { signal: "INT" },
);
export type KillRequest = Static<typeof KillRequest>;

export const ExecutionStreamQuery = Type.Object(
  {
    after: Type.Optional(
      Type.Integer({
        ...Position,
        description:
          "The number of the last event that the client has got, where it goes on; `Last-Event-ID` says the same. Default: from the first byte that is kept.",
      }),
    ),
    hold: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          "The command waits for this client where it reads slowly. Without it what is not kept any more is dropped, and an event says so.",
      }),
    ),
  },
  closed,
);

export const ExecutionStdinQuery = Type.Object(
  {
    end: Type.Optional(
      Type.Boolean({
        default: false,
        description: "Its input ends with these bytes; of one with a terminal a Ctrl-D follows them.",
      }),
    ),
  },
  closed,
);

/** Of a request to `exec` that begins a WebSocket. */
export const ExecQuery = Type.Object(
  {
    command: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: COMMAND_MAX_CHARS,
        description: "Shell command line to start. Default: a login shell. Not beside `execution`.",
      }),
    ),
    tty: Type.Optional(Type.Boolean({ default: true, description: "It gets a terminal." })),
    cols: Type.Optional(Type.Integer({ ...Cells, default: 80 })),
    rows: Type.Optional(Type.Integer({ ...Cells, default: 24 })),
    workdir: Type.Optional(Type.String({ minLength: 1, maxLength: 4_095, description: "Default: `/root`." })),
    reattach: Type.Optional(
      Type.String({
        ...Duration,
        description: `How long the command lives without a client, at most ${formatDuration(REATTACH_MAX_MS)}. Default: not at all.`,
      }),
    ),
    execution: Type.Optional(Type.String({ maxLength: 64, description: "The execution to attach to." })),
    after: Type.Optional(
      Type.Integer({
        ...Position,
        description: "The position to go on from. Default: the last 256 KiB are sent again.",
      }),
    ),
    read_only: Type.Optional(
      Type.Boolean({
        default: false,
        description: "Its input is ignored, and the command does not wait for it.",
      }),
    ),
  },
  closed,
);
export type ExecQuery = Static<typeof ExecQuery>;

/** For the descriptions of `execute`. */
export const detachedStdinRule = `A detached command takes at most ${DETACHED_STDIN_MAX_BYTES} bytes of \`stdin\`.`;
