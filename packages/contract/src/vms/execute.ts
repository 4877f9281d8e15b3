// Running a command in a sandbox or a machine.

import { Type, type Static } from "typebox";
import { formatDuration } from "../durations.ts";
import { Duration, Env, Nullable, OneOf, OTHERWISE } from "../fields.ts";
import {
  ARGUMENT_MAX_BYTES,
  EXECUTE_TIMEOUT_DEFAULT_MS,
  EXECUTE_TIMEOUT_MAX_MS,
  EXECUTION_TIMEOUT_MAX_MS,
  OUTPUT_MAX_BYTES,
  REATTACH_MAX_MS,
  STDIN_MAX_BYTES,
} from "../bounds.ts";
import { named } from "../named.ts";

const STDIN_MAX_MIB = STDIN_MAX_BYTES / (1024 * 1024);

const closed = { additionalProperties: false } as const;

export const ExecuteRequest = named(
  "ExecuteRequest",
  {
    command: Type.String({
      minLength: 1,
      maxLength: ARGUMENT_MAX_BYTES,
      description: `Shell command line, run by \`/bin/sh -c\` as root. At most ${ARGUMENT_MAX_BYTES} bytes.`,
      [OTHERWISE]:
        "Send a long script as `stdin` to the command `sh` or `python3 -`, or upload it as a file and run that.",
      examples: ["echo hello"],
    }),
    timeout: Type.Optional(
      Type.String({
        ...Duration,
        default: formatDuration(EXECUTE_TIMEOUT_DEFAULT_MS),
        examples: ["1m"],
        description: `Then the command and all its descendants get SIGKILL. At most ${formatDuration(EXECUTE_TIMEOUT_MAX_MS)} for an answer in one piece; of a stream of events and with \`detach\` ${formatDuration(EXECUTION_TIMEOUT_MAX_MS)}, or \`0s\` for none.`,
      }),
    ),
    workdir: Type.Optional(
      Type.String({ minLength: 1, maxLength: 4_095, description: "Absolute path. Default: `/root`." }),
    ),
    env: Type.Optional(Env),
    stdin: Type.Optional(
      Type.String({
        description: `What the command reads from its standard input, at most ${STDIN_MAX_MIB} MiB, and then its end. Without it the input is empty. A command that does not read all of it does not fail by that.`,
      }),
    ),
    detach: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          "Answers 201 with an `Execution` as soon as the command runs; it lives without a reader, and without a timeout unless `timeout` sets one.",
      }),
    ),
    keep_output: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          "Of a stream of events, or with `detach`, in a sandbox: its last output is kept for a day after it has ended, also when the sandbox is gone; `GET /v1/executions` lists it. A sandbox has one such command.",
      }),
    ),
    reattach: Type.Optional(
      Type.String({
        ...Duration,
        examples: [],
        description: `Of a stream of events: how long the command lives after its client has gone, so that it may be followed again; at most ${formatDuration(REATTACH_MAX_MS)}. Default: not at all.`,
      }),
    ),
    stdin_encoding: Type.Optional(
      OneOf(["utf8", "base64"], {
        default: "utf8",
        description: "`base64`: `stdin` holds exact bytes, without line breaks.",
      }),
    ),
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
