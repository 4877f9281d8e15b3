// Commands whose output outlives their sandbox.

import { Type, type Static } from "typebox";
import { EXECUTION_WINDOW_BYTES } from "../bounds.ts";
import { exampleIds } from "../example-ids.ts";
import { Nullable, OneOf, Timestamp } from "../fields.ts";
import { named } from "../named.ts";
import { pageOf } from "../page.ts";
import { ExecuteExit, ExecuteQuery } from "./execute.ts";

const fields = {
  id: Type.String({ description: "Id of the execution." }),
  sandbox_id: Type.String(),
  command: Type.String({ description: "Its first 1,024 characters." }),
  status: OneOf(["running", "exited", "ended"], {
    description: "`ended`: its sandbox ended before it did; `reason` says how.",
  }),
  reason: Nullable(Type.String({ description: "Why there is no exit." })),
  destroys_sandbox: Type.Boolean({ description: "The sandbox is destroyed when the command has ended." }),
  output_bytes: Type.Integer({
    minimum: 0,
    description: "Bytes of stdout and stderr together that it had written; 0 while it runs.",
  }),
  started_at: Timestamp,
  ended_at: Nullable(Timestamp),
  exit: Nullable(Type.Object(ExecuteExit.properties, { additionalProperties: false }), {
    description: "How it ended; null where that is not known, or not yet.",
  }),
};

const example = {
  id: exampleIds.execution,
  sandbox_id: exampleIds.sandbox,
  command: "make test",
  status: "exited",
  reason: null,
  destroys_sandbox: true,
  output_bytes: 48_213,
  started_at: "2026-11-20T16:21:09.123Z",
  ended_at: "2026-11-20T16:41:12.456Z",
  exit: {
    exit_code: 0,
    duration_ms: 1_203_333,
    timed_out: false,
    signal: null,
    oom_killed: false,
    truncated: false,
    usage: { cpu_ms: 940_101, memory_peak_bytes: 196_083_712 },
  },
} as const;

export const KeptExecution = named("KeptExecution", fields, example);
export type KeptExecution = Static<typeof KeptExecution>;

export const KeptExecutionList = pageOf(KeptExecution, "KeptExecutionList");
export type KeptExecutionList = Static<typeof KeptExecutionList>;

export const KeptOutput = named(
  "KeptOutput",
  {
    ...fields,
    stdout: Type.String({
      description: `What is kept of it: of both together the last ${EXECUTION_WINDOW_BYTES} bytes.`,
    }),
    stderr: Type.String(),
  },
  { ...example, stdout: "1 passed\n", stderr: "" },
);
export type KeptOutput = Static<typeof KeptOutput>;

export const KeptOutputQuery = ExecuteQuery;
