import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Caller, Context } from "../services/context.ts";
import { authenticate } from "../services/tokens.ts";
import { accessOf, refuseUnlessAllowed } from "./access.ts";
import { countedRequestOf } from "./messages.ts";

const callers = new WeakMap<FastifyRequest, Caller>();

/** Every call but the public ones needs a token that may make it. Call it before the routes are registered. */
export function requireAccess(app: FastifyInstance, context: Context): void {
  app.addHook("onRequest", async (request) => {
    const access = accessOf(request)?.access ?? "public";
    if (access === "public") return;
    const organization = request.headers["x-org-id"];
    const orgId = Array.isArray(organization) ? organization[0] : organization;
    const caller = await authenticate(context, secretOf(request), orgId);
    callers.set(request, caller);
    countedRequestOf(request).caller = caller;
    refuseUnlessAllowed(caller, access);
  });
}

/** Who makes this request; set also where it is then refused. Undefined on public calls. */
export function knownCallerOf(request: FastifyRequest): Caller | undefined {
  return callers.get(request);
}

export function callerOf(request: FastifyRequest): Caller {
  const caller = knownCallerOf(request);
  if (caller === undefined) throw new Error("this call needs no token, so nobody is known to make it");
  return caller;
}

/** The secret of the token that was sent. */
export function secretOf(request: FastifyRequest): string | undefined {
  const [, bearer] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? "") ?? [];
  if (bearer !== undefined) return bearer;
  const key = request.headers["x-api-key"];
  return typeof key === "string" ? key : undefined;
}
