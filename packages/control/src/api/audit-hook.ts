// Has each call leave its event in the audit log: every one that changes something, and every one that is forbidden. The event is
// written before the answer goes out, so each answered request is in the log; a creation writes its own with what it creates.
// What can be lost is the event of a call that the process died in, which was not answered. Of equal refusals the first is
// written like this, and the number of those after it once a minute.

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { idKinds } from "@skerry/contract/ids";
import { eventOfCall, succeeded, type Act, type CallerAct, type Ending } from "../audit/audit-log.ts";
import type { Context } from "../context.ts";
import type { NewAuditEvent } from "../audit/insert-audit-events.ts";
import { operationOf } from "./operation.ts";
import { knownCallerOf } from "./authenticate-hook.ts";
import { countedRequestOf } from "../http/counted-request.ts";

const recorded = new WeakMap<FastifyRequest, Ending["outcome"]>();
const answeredIds = new WeakMap<FastifyRequest, string>();

type Store = (act: CallerAct, ending: Ending) => Promise<void>;

/** Call it before the routes are registered. */
export function addAuditHook(app: FastifyInstance, context: Context): void {
  const store: Store = (act, ending) => context.trail.record(act, ending);
  app.addHook("preSerialization", async (request, _reply, answer) => {
    const id = idOf(answer);
    if (id !== null) answeredIds.set(request, id);
    return answer;
  });
  app.addHook("onSend", async (request, reply, payload) => {
    await record(request, endingOf(request, reply), store);
    return payload;
  });
  // For answers that the framework does not send, such as streams of events.
  app.addHook("onResponse", async (request, reply) => {
    await record(request, endingOf(request, reply), store);
  });
  app.addHook("onClose", () => context.trail.close());
}

/** For an answer that does not go out through the framework, before it does. */
export function recordBegun(context: Context, request: FastifyRequest): Promise<void> {
  return record(request, succeeded, (act, ending) => context.trail.record(act, ending));
}

/** For a creation that is going to be answered, before the framework comes to it. */
export function recordAnswered(context: Context, request: FastifyRequest, answer: unknown): Promise<void> {
  const id = idOf(answer);
  if (id !== null) answeredIds.set(request, id);
  return record(request, succeeded, (act, ending) => context.trail.record(act, ending));
}

/** For a creation, which writes it together with what it creates. */
export function eventOfCreation(
  { trail }: Pick<Context, "trail">,
  request: FastifyRequest,
  created: unknown,
): NewAuditEvent | undefined {
  const act = actOf(request);
  if (act === undefined) return undefined;
  recorded.set(request, succeeded.outcome);
  const isOfPath = operationOf(request)?.audit?.isOfPath === true;
  return trail.apart(eventOfCall(isOfPath ? act : { ...act, resourceId: idOf(created) }, succeeded));
}

/** Once for each outcome: a creation that was recorded may still fail to commit. */
async function record(request: FastifyRequest, ending: Ending | undefined, store: Store): Promise<void> {
  if (ending === undefined || recorded.get(request) === ending.outcome) return;
  const act = actOf(request);
  if (act === undefined) return;
  recorded.set(request, ending.outcome);
  await store(act, ending);
}

const READING = new Set(["GET", "HEAD"]);
const FORBIDDEN = 403;
const CLIENT_CLOSED = 499;

/** Undefined where nothing happened that is worth an event. */
function endingOf(request: FastifyRequest, reply: FastifyReply): Ending | undefined {
  const { statusCode: status } = reply;
  const code = countedRequestOf(request).errorCode ?? null;
  const isAnswerOfGuest = operationOf(request)?.method === "ANY" && code === null;
  if (isAnswerOfGuest) return undefined;
  if (status === FORBIDDEN) return { outcome: "denied", code };
  if (isReading(request) || operationOf(request)?.method === "ANY") return undefined;
  if (status >= CLIENT_CLOSED) return { outcome: "failure", code };
  // What is answered again has happened before.
  return status < 400 && !reply.hasHeader("idempotent-replayed") ? succeeded : undefined;
}

function isReading(request: FastifyRequest): boolean {
  return READING.has(request.method) || operationOf(request)?.audit?.isRead === true;
}

/** What this request asks for and who makes it, for its event in the log of another organization. */
export function callerActOf(request: FastifyRequest): CallerAct {
  const act = actOf(request);
  if (act === undefined) throw new Error("this call needs no token, so its audit log has no caller to name");
  return act;
}

function actOf(request: FastifyRequest): CallerAct | undefined {
  const act = operationOf(request)?.audit;
  const caller = knownCallerOf(request);
  if (act === undefined || caller === undefined) return undefined;
  const { action, resource, detail } = act;
  const { body, raw } = request;
  return {
    action,
    resource,
    caller,
    detail: caller.auditDetails ? shortened(detail?.({ body, url: raw.url ?? "" })) : null,
    resourceId: resourceIdOf(request, act),
    // Undefined once the connection is gone.
    address: (request.ip as string | undefined) ?? null,
    requestId: request.id,
  };
}

function resourceIdOf(request: FastifyRequest, { isOfPath, idOfRequest }: Act): string | null {
  const { params } = request as { readonly params: unknown };
  if (isOfPath === true) return idInPath({ id: (params as { readonly id: string }).id });
  return answeredIds.get(request) ?? idInPath(params) ?? idOfRequest?.(request) ?? null;
}

const DETAIL_MAX_CHARS = 1_000;

/** As PostgreSQL takes it. */
function shortened(detail: string | undefined): string | null {
  if (detail === undefined) return null;
  const text = detail.length > DETAIL_MAX_CHARS ? `${detail.slice(0, DETAIL_MAX_CHARS)}…` : detail;
  return text.replaceAll("\0", "").toWellFormed();
}

const ID = new RegExp(`^(?:${Object.values(idKinds).join("|")})_[0-9a-z]{26}$`);

/** The last one in the path is what the call is about. What has not the shape of an id is not kept: it could be anything. */
function idInPath(params: unknown): string | null {
  return (
    Object.values(params as Readonly<Record<string, string>>).findLast((value) => ID.test(value)) ?? null
  );
}

/** A member has no id but that of its user. */
function idOf(answer: unknown): string | null {
  const named = (answer ?? {}) as { readonly id?: unknown; readonly user_id?: unknown };
  const id = named.id ?? named.user_id;
  return typeof id === "string" && ID.test(id) ? id : null;
}
