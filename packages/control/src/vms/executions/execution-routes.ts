import type { FastifyReply, FastifyRequest } from "fastify";
import { SkerryError } from "@skerry/contract/errors";
import { STDIN_MAX_BYTES } from "@skerry/contract/bounds";
import type { Context } from "../../context.ts";
import { callerOf } from "../../api/authenticate-hook.ts";
import { requestSignal } from "../../api/request-signal.ts";
import type { Handler } from "../../api/routes.ts";
import type { VmKind } from "../vm-kind.ts";
import type {
  createExecutionOperation,
  getExecutionOperation,
  killExecutionOperation,
  listExecutionsOperation,
  sendExecutionStdinOperation,
  streamExecutionOperation,
} from "./execution-operations.ts";
import { sendExecutionEvents } from "./execution-events.ts";
import { checkId, getExecution, killExecution, listExecutions, sendInput } from "./executions.ts";
import { detachedCreation } from "./start-detached.ts";
import { followExecution } from "./follow-execution.ts";

export function createExecutionHandler(
  context: Context,
  kind: VmKind,
): Handler<ReturnType<typeof createExecutionOperation>> {
  return (request, reply) =>
    detachedCreation(context, callerOf(request), {
      kind,
      id: request.params.id,
      request: request.body,
      gone: requestSignal(reply),
    });
}

export function listExecutionsHandler(
  context: Context,
  kind: VmKind,
): Handler<ReturnType<typeof listExecutionsOperation>> {
  return (request, reply) =>
    listExecutions(context, callerOf(request), {
      kind,
      id: request.params.id,
      gone: requestSignal(reply),
      page: request.query,
    });
}

export function getExecutionHandler(
  context: Context,
  kind: VmKind,
): Handler<ReturnType<typeof getExecutionOperation>> {
  return (request, reply) => getExecution(context, callerOf(request), paramsOf(kind, request, reply));
}

export function killExecutionHandler(
  context: Context,
  kind: VmKind,
): Handler<ReturnType<typeof killExecutionOperation>> {
  return (request, reply) => {
    const signal = request.body.signal ?? "TERM";
    return killExecution(context, callerOf(request), { ...paramsOf(kind, request, reply), signal });
  };
}

export function sendExecutionStdinHandler(
  context: Context,
  kind: VmKind,
): Handler<ReturnType<typeof sendExecutionStdinOperation>> {
  return (request, reply) =>
    sendInput(context, callerOf(request), {
      ...paramsOf(kind, request, reply),
      content: boundedInput(request),
      end: request.query.end ?? false,
    });
}

export function streamExecutionHandler(
  context: Context,
  kind: VmKind,
): Handler<ReturnType<typeof streamExecutionOperation>> {
  return async (request, reply) => {
    const params = paramsOf(kind, request, reply);
    checkId(params.execution);
    const { hold = false } = request.query;
    const after = request.query.after ?? lastEventId(request) ?? 0;
    const caller = callerOf(request);
    using _open = context.openStreams.take(caller, params);
    const events = await followExecution(context, caller, { ...params, after, hold });
    await sendExecutionEvents(events, request, reply);
    return reply;
  };
}

function paramsOf(
  kind: VmKind,
  request: FastifyRequest<{ Params: { id: string; execution: string } }>,
  reply: FastifyReply,
) {
  const { id, execution } = request.params;
  return { kind, id, execution, gone: requestSignal(reply) };
}

/** What a browser's EventSource sends when it comes back. */
function lastEventId({ headers }: FastifyRequest): number | undefined {
  const sent = headers["last-event-id"];
  if (sent === undefined) return undefined;
  const position = typeof sent === "string" && /^\d{1,15}$/.test(sent) ? Number(sent) : undefined;
  if (position !== undefined) return position;
  throw new SkerryError("bad_request", "`Last-Event-ID` is not the number of an event.", {
    context: { header: "Last-Event-ID" },
  });
}

async function* boundedInput({ raw }: FastifyRequest): AsyncGenerator<Buffer> {
  let bytes = 0;
  // Leaving the loop must not destroy the connection: the answer still has to go out.
  for await (const chunk of raw.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > STDIN_MAX_BYTES)
      throw new SkerryError("payload_too_large", `The input is longer than ${STDIN_MAX_BYTES} bytes.`, {
        remediation: "Send it in several requests, one after the other.",
        context: { max_bytes: STDIN_MAX_BYTES },
      });
    yield chunk;
  }
}
