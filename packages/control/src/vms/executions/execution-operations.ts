// Commands that run on when their reader goes. Their output and their input are as secret as what `execute` answers.

import { Type } from "typebox";
import { STDIN_MAX_BYTES } from "@skerry/contract/bounds";
import { ExecuteExit } from "@skerry/contract/vms/execute";
import {
  Execution,
  ExecutionList,
  ExecutionRequest,
  ExecutionStdinQuery,
  ExecutionStreamQuery,
  KillRequest,
} from "@skerry/contract/vms/execution";
import { PageQuery } from "@skerry/contract/page";
import type { Operation } from "../../api/operation.ts";
import { inVmErrors } from "../vm-errors.ts";
import type { VmKind } from "../vm-kind.ts";
import { vmPath } from "../vm-path.ts";

/** Of a command that is started as an execution, beside those of what reaches into a VM. */
export const startExecutionErrors = [
  "invalid_duration",
  "invalid_env",
  "invalid_path",
  "timeout_too_long",
  "payload_too_large",
  "workdir_not_found",
  "permission_denied",
  "disk_full",
] as const;

function executionPath(kind: VmKind) {
  const { params, idOf } = vmPath(kind);
  const execution = Type.String({ description: "Id of the execution." });
  return { idOf, params: Type.Object({ ...params.properties, execution }) };
}

export function createExecutionOperation(kind: VmKind) {
  const { noun, table } = kind;
  return {
    surface: "v1",
    method: "POST",
    path: `/v1/${table}/:id/executions`,
    tag: table,
    summary: `Start a command in a ${noun}`,
    description:
      "Answers as soon as the command runs. It lives without a reader, and outlives this connection, the control plane and the host's agent; its last output is kept, and may be followed from any position.",
    ...vmPath(kind),
    body: ExecutionRequest,
    answers: { 201: Execution },
    access: { scope: `${table}:execute`, role: "member", rate: "write" },
    audit: { action: `${noun}.execute`, resource: noun, isOfPath: true, detail: commandInBody },
    errors: [...inVmErrors(kind), ...startExecutionErrors],
  } as const satisfies Operation;
}

export function listExecutionsOperation(kind: VmKind) {
  const { noun, table } = kind;
  return {
    surface: "v1",
    method: "GET",
    path: `/v1/${table}/:id/executions`,
    tag: table,
    summary: `List the executions of a ${noun}`,
    description:
      "Those that run and the last ones that have exited, newest first. What `execute` answers at once is none of them.",
    ...vmPath(kind),
    query: PageQuery,
    answers: { 200: ExecutionList },
    access: { scope: `${table}:execute`, role: "member", rate: "read" },
    audit: { action: `${noun}.execution.list`, resource: noun, isOfPath: true },
    errors: inVmErrors(kind),
  } as const satisfies Operation;
}

export function getExecutionOperation(kind: VmKind) {
  const { noun, table } = kind;
  return {
    surface: "v1",
    method: "GET",
    path: `/v1/${table}/:id/executions/:execution`,
    tag: table,
    summary: `Get an execution of a ${noun}`,
    ...executionPath(kind),
    answers: { 200: Execution },
    access: { scope: `${table}:execute`, role: "member", rate: "read" },
    audit: { action: `${noun}.execution.get`, resource: noun, isOfPath: true },
    errors: [...inVmErrors(kind), "execution_not_found"],
  } as const satisfies Operation;
}

export function streamExecutionOperation(kind: VmKind) {
  const { noun, table } = kind;
  return {
    surface: "v1",
    method: "GET",
    path: `/v1/${table}/:id/executions/:execution/stream`,
    tag: table,
    summary: `Follow the output of an execution of a ${noun}`,
    description:
      "Server-sent events: `start` with an `Execution`; `stdout` and `stderr` with the data " +
      '`{"data": "<base64>"}`; `dropped` with `{"from", "to"}` where bytes between two positions are not kept any more; `keepalive` ' +
      "every 15 s in which nothing comes; at the end one `exit` with an `ExecuteExit`, or one `error` with an `Error`. The `id` of an event is " +
      "the position that it reaches: how many bytes of stdout and stderr together were written up to there. A client that comes back " +
      "with it as `after`, or as `Last-Event-ID`, gets what follows, each byte once. Several clients may follow.",
    ...executionPath(kind),
    query: ExecutionStreamQuery,
    answers: {
      200: {
        description: "The events.",
        content: { "text/event-stream": { schema: Type.String() } },
      },
    },
    events: [ExecuteExit],
    access: { scope: `${table}:execute`, role: "member", rate: "read" },
    audit: { action: `${noun}.execution.stream`, resource: noun, isOfPath: true },
    errors: [...inVmErrors(kind), "execution_not_found", "too_many_streams"],
  } as const satisfies Operation;
}

export function sendExecutionStdinOperation(kind: VmKind) {
  const { noun, table } = kind;
  return {
    surface: "v1",
    method: "POST",
    path: `/v1/${table}/:id/executions/:execution/stdin`,
    tag: table,
    summary: `Send input to an execution of a ${noun}`,
    description: `The body goes to its standard input or its terminal as it is, at most ${STDIN_MAX_BYTES} bytes. Answers when all was taken: a command that does not read keeps it waiting. Never send it again after an answer that did not come, because a part may have been taken.`,
    ...executionPath(kind),
    query: ExecutionStdinQuery,
    body: "bytes",
    answers: { 204: Type.Null({ description: "All was taken." }) },
    access: { scope: `${table}:execute`, role: "member", rate: "write" },
    audit: { action: `${noun}.execution.input`, resource: noun, isOfPath: true },
    errors: [...inVmErrors(kind), "execution_not_found", "execution_input_closed", "payload_too_large"],
  } as const satisfies Operation;
}

export function killExecutionOperation(kind: VmKind) {
  const { noun, table } = kind;
  return {
    surface: "v1",
    method: "POST",
    path: `/v1/${table}/:id/executions/:execution/kill`,
    tag: table,
    summary: `Send a signal to an execution of a ${noun}`,
    description: "Answers when the signal was sent. One that has exited is left as it is.",
    ...executionPath(kind),
    body: KillRequest,
    isBodyOptional: true,
    answers: { 200: Execution },
    access: { scope: `${table}:execute`, role: "member", rate: "write" },
    audit: { action: `${noun}.execution.kill`, resource: noun, isOfPath: true },
    errors: [...inVmErrors(kind), "execution_not_found"],
  } as const satisfies Operation;
}

/** For the audit log; a body that was not read, or is none of ours, has no command. */
export function commandInBody({ body }: { readonly body: unknown }): string | undefined {
  const { command } = (body ?? {}) as { readonly command?: unknown };
  return typeof command === "string" ? command : undefined;
}
