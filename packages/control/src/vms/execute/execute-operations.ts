import { ExecuteExit, ExecuteQuery, ExecuteRequest, ExecuteResponse } from "@skerry/contract/vms/execute";
import { STDIN_MAX_BYTES } from "@skerry/contract/bounds";
import type { Operation } from "../../api/operation.ts";
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
      "With `Accept: text/event-stream` the answer is a stream of server-sent events: `stdout` and `stderr` with the data " +
      '`{"data": "<base64>"}`, then one `exit` with an `ExecuteExit`, or one `error` with an `Error`. A comment ' +
      "every 15 s keeps the connection alive. A client that disconnects kills the command.",
    ...vmPath(kind),
    query: ExecuteQuery,
    body: ExecuteRequest,
    largeBody: {
      maxBytes: BODY_MAX_BYTES,
      otherwise: "Upload what the command reads as a file, and redirect it: `command < file`.",
    },
    timing: ["start", "run"],
    answers: { 200: ExecuteResponse },
    events: [ExecuteExit],
    access: { scope: `${table}:execute`, role: "member", rate: "write" },
    audit: { action: `${noun}.execute`, resource: noun, detail: commandOf },
    errors: [
      ...inVmErrors(kind),
      "invalid_duration",
      "invalid_env",
      "invalid_path",
      "timeout_too_long",
      "payload_too_large",
      "no_capacity",
      "stdin_not_supported",
      "workdir_not_found",
      "permission_denied",
      "disk_full",
    ],
  } as const satisfies Operation;
}

/** For the audit log; a body that was not read, or is none of ours, has no command. */
function commandOf({ body }: { readonly body: unknown }): string | undefined {
  const { command } = (body ?? {}) as { readonly command?: unknown };
  return typeof command === "string" ? command : undefined;
}
