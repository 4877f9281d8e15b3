import { ExecuteExit, ExecuteQuery, ExecuteRequest, ExecuteResponse } from "@skerry/contract/vms/execute";
import type { Operation } from "../../api/operation.ts";
import { inVmErrors } from "../vm-errors.ts";
import type { VmKind } from "../vm-kind.ts";
import { vmPath } from "../vm-path.ts";

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
      "With `Accept: text/event-stream` the answer is a stream of server-sent events: `stdout` and `stderr` with the data " +
      '`{"data": "<base64>"}`, then one `exit` with an `ExecuteExit`, or one `error` with an `Error`. A comment ' +
      "every 15 s keeps the connection alive. A client that disconnects kills the command.",
    ...vmPath(kind),
    query: ExecuteQuery,
    body: ExecuteRequest,
    answers: { 200: ExecuteResponse },
    events: [ExecuteExit],
    access: { scope: `${table}:execute`, role: "member", rate: "write" },
    audit: { action: `${noun}.execute`, resource: noun },
    errors: [
      ...inVmErrors(kind),
      "invalid_duration",
      "invalid_env",
      "invalid_path",
      "timeout_too_long",
      "workdir_not_found",
      "permission_denied",
      "disk_full",
    ],
  } as const satisfies Operation;
}
