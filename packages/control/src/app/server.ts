import type { Server as HttpsServer } from "node:https";
import fastify, { type FastifyBaseLogger, type FastifyInstance } from "fastify";
import { SkerryError } from "@skerry/contract/errors";
import type { Context } from "../context.ts";
import { bindAccess } from "../api/operations.ts";
import { requireAccess } from "../api/authenticate-hook.ts";
import { keepAuditTrail } from "../api/audit-hook.ts";
import { auditRoutes } from "../organizations/audit-routes.ts";
import { limitJsonBodies, takeJsonOnly } from "../http/json-bodies.ts";
import { requireCreation } from "../api/idempotent-create.ts";
import { docsRoutes } from "../docs/docs-routes.ts";
import { egressRoutes } from "../vms/egress-routes.ts";
import { answerBrokenHttp, sendError } from "../http/errors.ts";
import { executeRoutes } from "../vms/execute-routes.ts";
import { fileRoutes } from "../vms/file-routes.ts";
import { rejectAmbiguousHeaders } from "../http/request-headers.ts";
import { healthRoutes } from "../platform/health-routes.ts";
import { machineLogRoutes } from "../machines/machine-log-routes.ts";
import { machineLifeRoutes, machineRoutes } from "../machines/machine-routes.ts";
import { meRoutes } from "../organizations/me-routes.ts";
import { memberRoutes } from "../organizations/member-routes.ts";
import type { CountedRequest } from "../http/request-tracking.ts";
import { metricsRoute } from "../platform/metrics-routes.ts";
import { hostRoutes } from "../hosts/host-routes.ts";
import { drainRoutes } from "../moves/drain-routes.ts";
import { hostRemovalRoute } from "../hosts/host-removal-routes.ts";
import { joiningRoutes } from "../joining/join-routes.ts";
import { limitRoutes } from "../capacity/limit-routes.ts";
import { refuseOtherMethods } from "../http/method-not-allowed.ts";
import { openapiRoute, registerOpenapi } from "../docs/openapi.ts";
import { organizationRoutes } from "../organizations/organization-routes.ts";
import { noteRoutes } from "../http/request-metrics.ts";
import { sandboxLifetimeRoutes, sandboxRoutes } from "../sandboxes/sandbox-routes.ts";
import { registerSchemas } from "../http/schemas.ts";
import { statusRoutes } from "../platform/status-routes.ts";
import { templateRoutes } from "../templates/template-routes.ts";
import { tokenRoutes } from "../organizations/token-routes.ts";
import {
  connectionLimits,
  listenerOf,
  plainServer,
  tlsServer,
  type ConnectionLimits,
  type KeyPair,
  type Listener,
} from "../http/transport.ts";
import { validatorCompiler } from "../http/validation.ts";
import { vmResources } from "./vm-resources.ts";

/** Largest JSON body. The largest that can be right, a full environment, is far below. */
const JSON_BODY_MAX_BYTES = 1024 * 1024;

/** An encoded path: three characters for each of 4,095 bytes, and more to say that it is too long. */
const PARAM_MAX_CHARS = 16_000;

export interface ServerOptions {
  readonly limits?: ConnectionLimits;
  /** Origins whose pages may call us from a browser. */
  readonly corsOrigins?: readonly string[];
  /** Addresses and networks of proxies whose `X-Forwarded-For` is believed. */
  readonly trustedProxies?: readonly string[];
}

export interface Server {
  readonly app: FastifyInstance;
  /** The same over TLS, on a port of its own; whoever asks for it has it listen. */
  overTls(pair: KeyPair): HttpsServer;
  /** Stops accepting, answers 503 on kept connections, waits for what is in flight, at most this long. */
  stop(graceMs: number): Promise<void>;
}

export async function buildServer(
  context: Context,
  { limits = connectionLimits, corsOrigins = [], trustedProxies = [] }: ServerOptions = {},
): Promise<Server> {
  const lifecycle: Lifecycle = { stopping: false, ending: new AbortController(), secured: [] };
  const listener = Promise.withResolvers<Listener>();
  const app = fastify({
    loggerInstance: context.log as FastifyBaseLogger,
    logController: new fastify.LogController({
      disableRequestLogging: true,
      requestIdLogLabel: "request_id",
    }),
    genReqId: (request) => (request as CountedRequest).requestId,
    serverFactory: (handler) => {
      const served = listenerOf(context, new Set(corsOrigins), handler);
      listener.resolve(served);
      return plainServer(served, limits);
    },
    bodyLimit: JSON_BODY_MAX_BYTES,
    trustProxy: trustedProxies.length > 0 && [...trustedProxies],
    routerOptions: { maxParamLength: PARAM_MAX_CHARS },
    return503OnClosing: false,
    forceCloseConnections: "idle",
    clientErrorHandler: answerBrokenHttp,
    frameworkErrors: sendError,
  });
  app.decorate("ending", lifecycle.ending.signal);
  app.setErrorHandler(sendError);
  app.setNotFoundHandler((request, reply) =>
    sendError(new SkerryError("not_found", "There is nothing at this path."), request, reply),
  );
  app.setValidatorCompiler(validatorCompiler);
  // First, so that also what the next hooks refuse is counted under its route.
  noteRoutes(app);
  app.addHook("onRequest", async (_request, reply) => {
    if (!lifecycle.stopping) return;
    void reply.header("connection", "close");
    throw shuttingDown("it begins nothing new");
  });
  rejectAmbiguousHeaders(app);
  takeJsonOnly(app);
  limitJsonBodies(app, limits.bodyMs);
  registerSchemas(app);
  await registerOpenapi(app, vmResources);
  await registerRoutes(app, context);
  await app.ready();
  const served = await listener.promise;
  return {
    app,
    overTls: (pair) => {
      const server = tlsServer(served, limits, pair);
      lifecycle.secured.push(server);
      return server;
    },
    stop: (graceMs) => stop(app, lifecycle, graceMs),
  };
}

async function registerRoutes(app: FastifyInstance, context: Context): Promise<void> {
  bindAccess(app);
  keepAuditTrail(app, context);
  requireAccess(app, context);
  requireCreation(app);
  const refuse = refuseOtherMethods(app);
  await app.register(healthRoutes);
  openapiRoute(app);
  await app.register(docsRoutes);
  await app.register(statusRoutes(context));
  await app.register(auditRoutes(context));
  await app.register(metricsRoute(context));
  await app.register(templateRoutes(context));
  await app.register(limitRoutes(context));
  await app.register(hostRoutes(context));
  await app.register(drainRoutes(context));
  await app.register(joiningRoutes(context));
  await app.register(hostRemovalRoute(context));
  await app.register(tokenRoutes(context));
  await app.register(meRoutes(context));
  await app.register(organizationRoutes(context));
  await app.register(memberRoutes(context));
  await app.register(sandboxRoutes(context));
  await app.register(sandboxLifetimeRoutes(context));
  await app.register(machineRoutes(context));
  await app.register(machineLifeRoutes(context));
  await app.register(machineLogRoutes(context));
  for (const resource of vmResources) {
    await app.register(egressRoutes(context, resource));
    await app.register(executeRoutes(context, resource));
    await app.register(fileRoutes(context, resource));
  }
  await app.register(async (scope) => refuse(scope));
}

interface Lifecycle {
  stopping: boolean;
  readonly ending: AbortController;
  /** The servers beside the framework's own. */
  readonly secured: HttpsServer[];
}

const IDLE_SWEEP_MS = 50;
/** What is still in flight this long before its time is over is ended by us, so that its client hears why. */
const LAST_WORD_MS = 1_000;

async function stop(app: FastifyInstance, lifecycle: Lifecycle, graceMs: number): Promise<void> {
  lifecycle.stopping = true;
  const servers = [app.server, ...lifecycle.secured];
  const end = setTimeout(
    () => lifecycle.ending.abort(shuttingDown("what was running for this request was ended")),
    Math.max(0, graceMs - LAST_WORD_MS),
  );
  const cut = setTimeout(() => servers.forEach((server) => server.closeAllConnections()), graceMs);
  // A kept connection whose last answer has just gone out would otherwise be waited for.
  const sweep = setInterval(() => servers.forEach((server) => server.closeIdleConnections()), IDLE_SWEEP_MS);
  await Promise.all([app.close(), ...lifecycle.secured.map(closed)]);
  clearTimeout(end);
  clearTimeout(cut);
  clearInterval(sweep);
}

/** Also for a server that has never listened. */
function closed(server: HttpsServer): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

function shuttingDown(what: string): SkerryError {
  return new SkerryError("shutting_down", `The control plane is shutting down; ${what}.`, {
    remediation: "Try again in a few seconds.",
    retryAfterS: 5,
  });
}
