// POST /v1/…/{id}/execute: one answer at the end, or server-sent events while the command runs.

import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import { SkerryError } from "@skerry/contract/errors";
import { execute, executeStream, type CollectedRun } from "./execute.ts";
import { stateOf, type Context } from "../../context.ts";
import { EncodingTurns } from "./encoding-turns.ts";
import { createIdempotently } from "../../api/create-idempotently.ts";
import { sendExecutionEvents } from "../executions/execution-events.ts";
import { detachedCreation } from "../executions/start-detached.ts";
import { readInput } from "../executions/input.ts";
import type { Encoding } from "./output.ts";
import { recordBegun } from "../../api/audit-hook.ts";
import { callerOf } from "../../api/authenticate-hook.ts";
import { RequestTiming } from "../../http/request-timing.ts";
import { releaseLargeBody } from "../../api/large-bodies.ts";
import { requestSignal } from "../../api/request-signal.ts";
import type { Handler } from "../../api/routes.ts";
import type { executeOperation } from "./execute-operations.ts";
import type { VmKind } from "../vm-kind.ts";

export function executeHandler(context: Context, kind: VmKind): Handler<ReturnType<typeof executeOperation>> {
  return async (request, reply) => {
    const { stdin, stdin_encoding, ...body } = request.body;
    const input = { bytes: readInput(stdin, stdin_encoding), release: () => releaseLargeBody(reply.raw) };
    if (body.detach === true) {
      const called = {
        kind,
        id: request.params.id,
        request: body,
        input: input.bytes,
        gone: requestSignal(reply),
      };
      const creation = detachedCreation(context, callerOf(request), called);
      return reply.code(201).send(await createIdempotently(context, { request, reply }, creation));
    }
    // The text of the input would otherwise be held beside its bytes, for as long as the command runs.
    request.body = body;
    const params = {
      kind,
      id: request.params.id,
      request: body,
      input,
      gone: requestSignal(reply),
      timing: new RequestTiming(reply),
      begun: () => recordBegun(context, request),
    };
    if (request.headers.accept?.includes("text/event-stream") === true) {
      using _open = context.openStreams.take(callerOf(request), params);
      const events = await executeStream(context, callerOf(request), params);
      await sendExecutionEvents(events, request, reply);
      return reply;
    }
    if (body.reattach !== undefined) throw ofStreams("reattach");
    if (body.keep_output === true) throw ofStreams("keep_output");
    const run = await execute(context, callerOf(request), params);
    return sendRun(context, run, { encoding: request.query.encoding ?? "utf8", reply });
  };
}

function ofStreams(field: "reattach" | "keep_output"): SkerryError {
  return new SkerryError("bad_request", `"${field}" is for a stream of events.`, {
    remediation: "Ask for one with `Accept: text/event-stream`, or leave it out.",
    context: { field },
  });
}

/** Up to here an answer is serialized in one piece, through its schema. */
const WHOLE_MAX_BYTES = 64 * 1024;

/** Of all answers of this process. */
const turnsOf = stateOf(() => new EncodingTurns());

interface Answering {
  readonly encoding: Encoding;
  readonly reply: FastifyReply;
}

function sendRun(context: Context, run: CollectedRun, { encoding, reply }: Answering): FastifyReply {
  if (run.stdout.bytes + run.stderr.bytes > WHOLE_MAX_BYTES)
    return sendPieces(context, run, { encoding, reply });
  using answered = run;
  const { exit, stdout, stderr } = answered;
  return reply.send({ ...exit, stdout: stdout.toString(encoding), stderr: stderr.toString(encoding) });
}

function sendPieces(context: Context, run: CollectedRun, { encoding, reply }: Answering): FastifyReply {
  // Not in a `finally` of the pieces: where the client has left before the first one, the generator never begins.
  if (reply.raw.closed) run[Symbol.dispose]();
  else reply.raw.once("close", () => run[Symbol.dispose]());
  const { orgId } = callerOf(reply.request);
  const pieces = answerPieces(run, encoding, () => turnsOf(context).next(orgId));
  // Made when the client has room for them, and one ahead.
  return reply.type("application/json; charset=utf-8").send(Readable.from(pieces, { highWaterMark: 1 }));
}

/** The same JSON in pieces: whole, an answer of 10 MiB took up to 224 MiB on its way from bytes to escaped text. */
async function* answerPieces(
  run: CollectedRun,
  encoding: Encoding,
  turn: () => Promise<void>,
): AsyncGenerator<string, void> {
  yield JSON.stringify(run.exit).slice(0, -1);
  for (const name of ["stdout", "stderr"] as const) {
    yield `,"${name}":"`;
    for await (const piece of run[name].pieces(encoding, turn)) yield JSON.stringify(piece).slice(1, -1);
    yield '"';
  }
  yield "}";
}
