// The Connect protocol of E2B's clients, in JSON and in binary. Loaded when the first call comes.

import { Readable } from "node:stream";
import { createConnectRouter, createContextValues } from "@connectrpc/connect";
import type { UniversalHandler, UniversalServerRequest } from "@connectrpc/connect/protocol";
import type { FastifyReply, FastifyRequest } from "fastify";
import { SkerryError } from "@skerry/contract/errors";
import type { Context } from "../context.ts";
import { pathInSandbox } from "./e2b-operations.ts";
import { sandboxCallOf, type SandboxCall } from "./sandbox-call.ts";
import { filesystemService } from "./filesystem-service.ts";
import { processService } from "./process-service.ts";
import { breakKey, sandboxCallKey } from "./rpc-call.ts";
import { Filesystem } from "./wire/filesystem_pb.js";
import { Process } from "./wire/process_pb.js";

/** Of one message; 4 MiB are what a terminal or a pipe is sent at most at once. */
const MESSAGE_MAX_BYTES = 4 * 1024 * 1024;

const handlersOf = new WeakMap<Context, ReadonlyMap<string, UniversalHandler>>();

function makeHandlers(context: Context): ReadonlyMap<string, UniversalHandler> {
  const router = createConnectRouter({ grpc: false, grpcWeb: false, readMaxBytes: MESSAGE_MAX_BYTES });
  router.service(Process, processService(context));
  router.service(Filesystem, filesystemService(context));
  const made = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
  handlersOf.set(context, made);
  return made;
}

export async function answerRpc(
  context: Context,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const call = sandboxCallOf(request, reply);
  const path = pathInSandbox(request.url) ?? "";
  const handler = (handlersOf.get(context) ?? makeHandlers(context)).get(path);
  if (handler === undefined) throw new SkerryError("not_found", "There is no such procedure.");
  const broken = new AbortController();
  const answer = await handler(universalRequestOf(request, { call, broken }));
  void reply.code(answer.status);
  answer.header?.forEach((value, name) => void reply.header(name, value));
  if (answer.body === undefined) return reply.send(null);
  return reply.send(Readable.from(unlessBroken(answer.body, broken.signal), { objectMode: false }));
}

async function* unlessBroken(
  body: AsyncIterable<Uint8Array>,
  broken: AbortSignal,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    broken.throwIfAborted();
    yield chunk;
  }
}

interface Called {
  readonly call: SandboxCall;
  readonly broken: AbortController;
}

function universalRequestOf(request: FastifyRequest, { call, broken }: Called): UniversalServerRequest {
  return {
    httpVersion: request.raw.httpVersion,
    method: request.method,
    url: new URL(request.url, "http://localhost").href,
    header: headersOf(request),
    // Leaving the loop must not destroy the connection: the answer still has to go out.
    body: request.raw.iterator({ destroyOnReturn: false }),
    signal: call.gone,
    contextValues: createContextValues().set(sandboxCallKey, call).set(breakKey, broken),
  };
}

function headersOf({ headers }: FastifyRequest): Headers {
  const made = new Headers();
  for (const [name, value] of Object.entries(headers))
    for (const one of [value ?? []].flat()) made.append(name, one);
  return made;
}
