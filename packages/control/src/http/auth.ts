import type { FastifyInstance, FastifyRequest } from "fastify";
import { authenticate } from "../services/tokens.ts";
import type { Caller, Context } from "../services/context.ts";

const callers = new WeakMap<FastifyRequest, Caller>();

/** Every route of this scope needs a token. */
export function requireToken(app: FastifyInstance, context: Context): void {
  app.addHook("onRequest", async (request) => {
    const organization = request.headers["x-org-id"];
    const orgId = Array.isArray(organization) ? organization[0] : organization;
    callers.set(request, await authenticate(context, secretOf(request), orgId));
  });
}

export function callerOf(request: FastifyRequest): Caller {
  const caller = callers.get(request);
  if (caller === undefined) throw new Error("this route is outside the scope that asks for a token");
  return caller;
}

function secretOf(request: FastifyRequest): string | undefined {
  const [, bearer] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? "") ?? [];
  if (bearer !== undefined) return bearer;
  const key = request.headers["x-api-key"];
  return typeof key === "string" ? key : undefined;
}
