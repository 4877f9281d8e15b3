import { ExecuteExit, ExecuteQuery, ExecuteRequest, ExecuteResponse } from "@skerry/contract/vms/execute";
import { STDIN_MAX_BYTES } from "@skerry/contract/bounds";
import { detachedStdinRule, Execution } from "@skerry/contract/vms/execution";
import type { Operation } from "../../api/operation.ts";
import { commandInBody, startExecutionErrors } from "../executions/execution-operations.ts";
import { inVmErrors } from "../vm-errors.ts";
import type { VmKind } from "../vm-kind.ts";
import { vmPath } from "../vm-path.ts";

/** As large as a command's input in base64, and what the body holds beside it. */
const BODY_MAX_BYTES = Math.ceil(STDIN_MAX_BYTES / 3) * 4 + 1024 * 1024;

export function executeOperation(kind: VmKind) {
  const { noun, table } = kind;
  return {
    surface: "v1",
    method: "POST",
    path: `/v1/${table}/:id/execute`,
    tag: table,
    summary: `Execute a command in a ${noun}`,
    description:
      "Runs a shell command and answers its output once it has ended. " +
      "With `Accept: text/event-stream` the answer is a stream of server-sent events: `start` with an `Execution`, `stdout` and `stderr` " +
      'with the data `{"data": "<base64>"}`, `keepalive` every 15 s in which nothing comes, then one `exit` with an `ExecuteExit`, or one `error` ' +
      "with an `Error`. The number of an event is the position that it reaches, from which the execution may be followed again. A client that " +
      "disconnects kills the command, at once or after the time that `reattach` gives it to come back. With `detach` the answer is 201 and an " +
      `\`Execution\`, as of \`POST /v1/${table}/{id}/executions\`. ${detachedStdinRule}`,
    ...vmPath(kind),
    query: ExecuteQuery,
    body: ExecuteRequest,
    largeBody: {
      maxBytes: BODY_MAX_BYTES,
      otherwise: "Upload what the command reads as a file, and redirect it: `command < file`.",
    },
    timing: ["start", "run"],
    answers: { 200: ExecuteResponse },
    createsWhenAsked: Execution,
    events: [ExecuteExit],
    access: { scope: `${table}:execute`, role: "member", rate: "write" },
    audit: { action: `${noun}.execute`, resource: noun, isOfPath: true, detail: commandInBody },
    errors: [
      ...inVmErrors(kind),
      ...startExecutionErrors,
      "no_capacity",
      "stdin_not_supported",
      "too_many_streams",
    ],
  } as const satisfies Operation;
}
