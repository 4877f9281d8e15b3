// Every answer 201 comes through here, so that no creation is without an Idempotency-Key.

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { SkerryError } from "@skerry/contract/errors";
import { IDEMPOTENCY_KEY_MAX_CHARS } from "@skerry/contract/bounds";
import type { Context } from "../context.ts";
import { createOnce, type Created, type Creation, type KeyedRequest } from "../idempotency/create-once.ts";
import { operationOf } from "./operation.ts";
import { eventOfCreation, recordAnswered } from "./audit-hook.ts";
import { callerOf, secretOf } from "./authenticate-hook.ts";
import { requestSignal } from "./request-signal.ts";

const HEADER = "idempotency-key";
/** Printable ASCII without spaces. A header that came twice holds a space after its comma, and is refused with it. */
const SANE_KEY = new RegExp(`^[\\x21-\\x7e]{1,${IDEMPOTENCY_KEY_MAX_CHARS}}$`);

const passed = new WeakSet<FastifyRequest>();

/** The answer of a creation: of this one, or of the first one with the same key. */
export async function createIdempotently<Answer>(
  context: Context,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  creation: Creation<Answer>,
): Promise<Answer> {
  passed.add(request);
  const asked = {
    caller: callerOf(request),
    request: keyedRequest(request, reply),
    event: (resource: Created) => eventOfCreation(context, request, resource),
    answered: (answer: Answer) => recordAnswered(context, request, answer),
  };
  const { answer, isReplayed } = await createOnce(context, asked, creation);
  if (isReplayed) void reply.header("idempotent-replayed", "true");
  return creation.shown?.(answer) ?? answer;
}

/** A route that answers 201 by itself is a bug, and is told so by its first test. */
export function requireCreation(app: FastifyInstance): void {
  app.addHook("onSend", async (request, reply) => {
    // Elsewhere 201 also answers what creates nothing, such as a sandbox that was resumed.
    const isOurs = operationOf(request)?.surface !== "e2b";
    if (reply.statusCode === 201 && isOurs && !passed.has(request)) {
      throw new Error(`${request.routeOptions.url} creates without \`createIdempotently\``);
    }
  });
}

function keyedRequest(request: FastifyRequest, reply: FastifyReply): KeyedRequest | undefined {
  const key = request.headers[HEADER];
  if (key === undefined) return undefined;
  if (typeof key !== "string" || !SANE_KEY.test(key)) {
    throw new SkerryError("bad_request", "`Idempotency-Key` is not a key.", {
      remediation: `Send 1 to ${IDEMPOTENCY_KEY_MAX_CHARS} printable ASCII characters without spaces, for example a random UUID.`,
      context: { header: "Idempotency-Key" },
    });
  }
  const { method, routeOptions, params, body } = request;
  return {
    key,
    target: JSON.stringify([method, routeOptions.url, params]),
    body,
    secret: secretOf(request) ?? "",
    gone: requestSignal(reply),
  };
}
