// The calls of the host API about executions: commands that run on in the guest when their reader goes. Each names the incarnation that it
// means (`execution_id`), like all calls; the execution has an id of its own, in the path.
//
//   PUT    /vms/{id}/executions/{execution}          StartExecution    ExecutionState, or with `follow` frames; the same id twice starts once
//   GET    /vms/{id}/executions?execution_id=                          ExecutionStates
//   GET    /vms/{id}/executions/{execution}?execution_id=              ExecutionState
//   GET    /vms/{id}/executions/{execution}/output?execution_id=&after=&hold=   frames
//   POST   /vms/{id}/executions/{execution}/input?execution_id=&end=   raw bytes   204 when the command's pipe or terminal has taken them
//   POST   /vms/{id}/executions/{execution}/signal   SignalExecution   ExecutionState
//   POST   /vms/{id}/executions/{execution}/resize   ResizeExecution   ExecutionState
//
// Frames: HEAD (ExecutionState, whose `at` is the position of the first byte), DATA (records of `guest-api/execution-records.ts`), PING every
// 10 s, then CLOSE (ExecutionState, when it has ended) or RESET (ErrorBody; `vm_moving`: follow it again from the position reached).

import { Type, type Static } from "typebox";
import { Env, Nullable } from "../fields.ts";
import { ExecuteExit } from "../vms/execute.ts";

const closed = { additionalProperties: false } as const;

/** A program's name and its arguments. */
export const PROGRAM_MAX_WORDS = 512;

/** Of a file directly in `/run`, or in one folder of it. */
const RUN_FILE_NAME = "^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,40}(/[A-Za-z0-9_.-]{0,40}[A-Za-z0-9_-])?$";

const Incarnation = Type.String({ maxLength: 64 });
const Natural = Type.Integer({ minimum: 0 });
const Size = Type.Integer({ minimum: 1, maximum: 65_535 });

export const ExecutionState = Type.Object(
  {
    execution: Type.String(),
    /** Of its command; 0 where it has ended, or its agent does not tell. A host of an earlier version leaves it out. */
    pid: Type.Optional(Natural),
    /** Its first 1,024 bytes. */
    command: Type.String(),
    tty: Type.Boolean(),
    /** It can be sent input. */
    stdin: Type.Boolean(),
    /** 0 for none. */
    timeout_ms: Natural,
    /** -1: it lives without a reader. */
    reattach_ms: Type.Integer({ minimum: -1 }),
    duration_ms: Natural,
    at: Natural,
    from: Natural,
    position: Natural,
    /** Null while it runs. */
    exit: Nullable(Type.Object(ExecuteExit.properties, closed)),
  },
  closed,
);
export type ExecutionState = Static<typeof ExecutionState>;

export const ExecutionStates = Type.Object({ items: Type.Array(ExecutionState) }, closed);

export const StartExecution = Type.Object(
  {
    execution_id: Incarnation,
    command: Type.String(),
    // A host of an earlier version knows none of these, and an agent of one may not.
    /** What is run in place of a shell with `command`, which is then only told of. */
    program: Type.Optional(Type.Array(Type.String(), { minItems: 1, maxItems: PROGRAM_MAX_WORDS })),
    /** Only beside a `program`: who runs it, in whose home it begins where there is no `workdir`. Without one: as the template says. */
    user: Type.Optional(Type.String({ minLength: 1, maxLength: 65 })),
    /** Files of the guest's `/run` that are there when it begins. */
    run_files: Type.Optional(
      Type.Record(Type.String({ pattern: RUN_FILE_NAME }), Type.String({ maxLength: 1_024 }), {
        maxProperties: 8,
      }),
    ),
    workdir: Nullable(Type.String()),
    env: Env,
    timeout_ms: Natural,
    stdin: Type.Boolean(),
    tty: Type.Boolean(),
    cols: Size,
    rows: Size,
    reattach_ms: Type.Integer({ minimum: -1 }),
    /** The answer is its output from the beginning, and the command waits for this reader. */
    follow: Type.Boolean(),
  },
  closed,
);
export type StartExecution = Static<typeof StartExecution>;

export const OutputQuery = Type.Object(
  {
    execution_id: Incarnation,
    /** The position to go on from; less than 0: so many bytes before what was written last. */
    after: Type.Integer(),
    /** The command waits for this reader. */
    hold: Type.Boolean(),
  },
  closed,
);

export const InputQuery = Type.Object(
  {
    execution_id: Incarnation,
    /** Its input ends with these bytes. */
    end: Type.Boolean(),
  },
  closed,
);

export const SignalExecution = Type.Object(
  { execution_id: Incarnation, signal: Type.Integer({ minimum: 1, maximum: 64 }) },
  closed,
);

export const ResizeExecution = Type.Object({ execution_id: Incarnation, cols: Size, rows: Size }, closed);

/** Between two frames of output; a host is taken for gone after several of them in vain. */
export const OUTPUT_PING_MS = 10_000;
