import type { FastifyInstance, FastifyRequest } from "fastify";
import { noteAuthenticated, noteVisit } from "@skerry/contract/connections/doors";
import { SkerryError } from "@skerry/contract/errors";
import { isId } from "@skerry/contract/ids";
import { lowestRole } from "@skerry/contract/organizations/scopes";
import type { Caller, Tenant } from "../caller.ts";
import { stateOf, type Context } from "../context.ts";
import { authenticate, isSecret, readCredentials } from "../auth/authenticate.ts";
import { keyOf } from "../auth/credentials.ts";
import { sessionSecretOf } from "../auth/session-cookie.ts";
import { AddressTickets } from "../rate-limits/address-tickets.ts";
import { AuthFailures } from "../rate-limits/auth-failures.ts";
import { RateLimiter } from "../rate-limits/rate-limiter.ts";
import { operationOf, type Access, type Visitor } from "./operation.ts";
import { countedRequestOf } from "../http/counted-request.ts";
import { isUpgrade, offeredProtocols } from "../http/upgrades.ts";
import { countingFailures, enforceRateLimit, takeVisitorTicket } from "./enforce-rate-limit.ts";
import { authorize } from "./authorize.ts";

interface Authenticated {
  readonly caller: Caller;
  /** Asks again: throws where it may not go on. */
  readonly confirm: () => Promise<Caller>;
  readonly watch: (end: (reason: SkerryError) => void) => Disposable;
}

const known = new WeakMap<FastifyRequest, Authenticated>();
const visitors = new WeakMap<FastifyRequest, Visitor>();

/** Counts failures of this process, whatever it was that should have authenticated. */
export const authFailuresOf = stateOf(({ limits }) => new AuthFailures(limits.authFailuresPerMinute));

/** Every call but the public ones needs a token that may make it. Call it before the routes are registered. */
export function addAuthenticateHook(app: FastifyInstance, context: Context): void {
  const limiter = new RateLimiter(context.db, context.limits.organization);
  const attempts = authFailuresOf(context);
  const tickets = new AddressTickets(context.limits.visitorsPerMinute);
  app.addHook("onRequest", async (request, reply) => {
    const access = operationOf(request)?.access ?? "public";
    if (access === "public") return;
    const visitor = await access.admit?.(context, request, () => takeVisitorTicket(tickets, request));
    if (visitor !== undefined) {
      reply.raw.once("close", noteVisit(request.raw.socket));
      return void visitors.set(request, visitor);
    }
    // What cannot be a token is refused without asking the database, so it need not be counted.
    const credentials =
      (await access.credentials?.(context, request)) ??
      readCredentials(secretOf(request), organizationOf(request, access));
    // With the organization: a valid token that names those of others costs a look into the database each time, too.
    const attempt = { address: request.ip, proof: keyOf(credentials) };
    const { caller, as, needed } = await countingFailures(attempts, attempt, () =>
      callerFor(context, credentials, access),
    );
    countedRequestOf(request).caller = caller;
    noteAuthenticated(request.raw.socket, caller.orgId);
    const check = (current: Caller) => authorize(current, needed);
    known.set(request, {
      caller,
      confirm: async () => {
        const current = await authenticate(context, as);
        check(current);
        return current;
      },
      watch: (end) => context.watch.add({ credentials: as, check, end }),
    });
    await enforceRateLimit(limiter, caller, access, reply);
    check(caller);
  });
}

type Credentials = ReturnType<typeof readCredentials>;

interface Admitted {
  readonly caller: Caller;
  readonly as: Credentials;
  /** What the caller must have. */
  readonly needed: Pick<Access, "scope" | "orScope" | "role">;
}

async function callerFor(context: Context, credentials: Credentials, access: Access): Promise<Admitted> {
  try {
    return { caller: await authenticate(context, credentials), as: credentials, needed: access };
  } catch (error) {
    const { asOperator: scope } = access;
    const isStranger = error instanceof SkerryError && error.code === "organization_not_found";
    if (scope === undefined || !isStranger) throw error;
    const as = { ...credentials, orgId: undefined };
    const caller = await authenticate(context, as);
    // To all others it is as if there were no such organization.
    if (!caller.scopes.has(scope)) throw error;
    return { caller, as, needed: { scope, role: lowestRole[scope] } };
  }
}

/** Who makes this request; set also where it is then refused. Undefined on public calls. */
export function knownCallerOf(request: FastifyRequest): Caller | undefined {
  return known.get(request)?.caller;
}

/** For requests that last: `end` is called when this one may not go on. Undefined on public calls. */
export function watchAccess(
  request: FastifyRequest,
  end: (reason: SkerryError) => void,
): Disposable | undefined {
  const visitor = visitors.get(request);
  return visitor === undefined ? known.get(request)?.watch(end) : watchVisitor(visitor, end);
}

/** The caller of a request that lasts, with what it may do by now. Throws where it may not go on. */
export function confirmedCallerOf(request: FastifyRequest): Promise<Caller> {
  const found = known.get(request);
  if (found === undefined) throw new Error("this call needs no token, so its caller is not known");
  return found.confirm();
}

const VISITOR_CHECK_MS = 5_000;

/** Asks again and again. Where that cannot be answered, the visitor may go on until it can. */
function watchVisitor({ check }: Visitor, end: (reason: SkerryError) => void): Disposable {
  const timer = setInterval(() => {
    check().catch((error: unknown) => {
      if (error instanceof SkerryError && error.status < 500) end(error);
    });
  }, VISITOR_CHECK_MS);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** For which organization a request runs, also one without a token. */
export function tenantOf(request: FastifyRequest): Tenant {
  return visitors.get(request) ?? callerOf(request);
}

export function callerOf(request: FastifyRequest): Caller {
  const caller = knownCallerOf(request);
  if (caller === undefined) throw new Error("this call needs no token, so its caller is not known");
  return caller;
}

/** Undefined: the token's own. */
function organizationOf(request: FastifyRequest, access: Access): string | undefined {
  if (access.organization === "path") return (request.params as { readonly id: string }).id;
  const named = organizationInHeader(request);
  // In a request to a port the header may be meant for the program that listens there.
  const isForGuest = access.organization === undefined && operationOf(request)?.method === "ANY";
  return isForGuest && named !== undefined && !isId("organization", named) ? undefined : named;
}

/** As the request has it, whether there is one or not. Undefined: the token's own. */
export function organizationInHeader(request: FastifyRequest): string | undefined {
  const named = request.headers["x-org-id"] ?? offered(request, ORGANIZATION_PROTOCOL);
  return Array.isArray(named) ? named.join() : named;
}

/** The secret of the token that was sent, or of the browser's session. What a guest answers may not come by a cookie: a page of ours that
 *  its redirect or its script reached would act for the person who looks at it. */
export function secretOf(request: FastifyRequest): string | undefined {
  const shown = secretsShown(request);
  if (operationOf(request)?.method === "ANY") return shown.find(isSecret);
  return shown[0] ?? sessionSecretOf(request, { isUpgrade: isUpgrade(countedRequestOf(request)) });
}

/** In each place that has one. Of a request to a port all others may be credentials of what listens there,
 *  whatever is in their places. */
function secretsShown(request: FastifyRequest): string[] {
  const [, bearer] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? "") ?? [];
  const key = request.headers["x-api-key"];
  const inProtocol = offered(request, BEARER_PROTOCOL);
  return [
    bearer,
    typeof key === "string" ? key : undefined,
    inProtocol === undefined ? undefined : secretInProtocol(inProtocol),
  ].filter((secret) => secret !== undefined);
}

function secretInProtocol(encoded: string): string {
  return Buffer.from(encoded, "base64url").toString("latin1");
}

/** Browsers can set no header of a WebSocket, so Kubernetes has them offer the token as a subprotocol, which is never chosen. */
export const BEARER_PROTOCOL = "base64url.bearer.authorization.k8s.io.";
/** Whether a subprotocol is a token of ours: Kubernetes's own servers are offered theirs in the same way. */
export function isSecretProtocol(offer: string): boolean {
  return offer.startsWith(BEARER_PROTOCOL) && isSecret(secretInProtocol(offer.slice(BEARER_PROTOCOL.length)));
}

/** The same for `X-Org-ID`. */
export const ORGANIZATION_PROTOCOL = "organization.skerry.";

function offered(request: FastifyRequest, prefix: string): string | undefined {
  return offeredProtocols(request)
    .find((one) => one.startsWith(prefix))
    ?.slice(prefix.length);
}
