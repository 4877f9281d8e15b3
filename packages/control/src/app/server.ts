import type { Server as HttpsServer } from "node:https";
import fastify, { type FastifyBaseLogger, type FastifyInstance } from "fastify";
import type { ConnectionBounds } from "@skerry/contract/connections/connection-table";
import { connectionBounds, fileLimit } from "@skerry/contract/connections/file-limit";
import { ErrorResponse } from "@skerry/contract/error-response";
import { SkerryError } from "@skerry/contract/errors";
import type { Context } from "../context.ts";
import { registerRoutes, requireDeclarations } from "../api/register-routes.ts";
import { addAuthenticateHook } from "../api/authenticate-hook.ts";
import { addAuditHook } from "../api/audit-hook.ts";
import { limitJsonBodies, takeJsonOnly } from "../http/json-bodies.ts";
import { requireCreation } from "../api/create-idempotently.ts";
import { answerBrokenHttp, sendError } from "../http/errors.ts";
import { rejectAmbiguousHeaders } from "../http/request-headers.ts";
import type { CountedRequest } from "../http/counted-request.ts";
import {
  leadByHostName,
  leadByLocalName,
  leadByPortHeader,
  refuseStrayHosts,
} from "../vms/ports/port-host.ts";
import { answerMethodNotAllowed } from "../http/method-not-allowed.ts";
import { registerOpenapi } from "../docs/openapi.ts";
import { noteRoutes } from "../http/count-requests.ts";
import { namedSchemasIn, registerSchemas } from "../http/schemas.ts";
import {
  connectionLimits,
  listenerOf,
  httpServer,
  httpsServer,
  type CertificateFor,
  type ConnectionLimits,
  type KeyPair,
} from "../http/http-server.ts";
import type { Listener } from "../http/counted-request.ts";
import { openDoors } from "../http/open-doors.ts";
import { buildSerializer } from "../http/build-serializer.ts";
import { validatorCompiler } from "../http/validator-compiler.ts";
import { registerE2b } from "../e2b/e2b-routes.ts";
import { e2bPaths, sandboxPort } from "../e2b/sandbox-port.ts";
import { allRoutes, operations } from "./operations.ts";

/** Largest JSON body of a call that needs no token: many peers may each have one read at a time. */
const PUBLIC_BODY_MAX_BYTES = 16 * 1024;

/** An encoded path: three characters for each of 4,095 bytes, and more to say that it is too long. */
const PARAM_MAX_CHARS = 16_000;

export interface ServerOptions {
  readonly limits?: ConnectionLimits;
  /** By default those that this process has the files for. */
  readonly bounds?: ConnectionBounds;
  /** Origins whose pages may call us from a browser. */
  readonly corsOrigins?: readonly string[];
  /** Addresses and networks of proxies whose `X-Forwarded-For` is believed. */
  readonly trustedProxies?: readonly string[];
}

export interface Server {
  readonly app: FastifyInstance;
  /** The same over TLS, on a port of its own. The caller makes it listen. */
  overTls(pair: KeyPair, certificateFor?: CertificateFor): HttpsServer;
  /** Stops accepting, answers 503 on kept connections, waits for what is in flight, at most this long. */
  stop(graceMs: number): Promise<void>;
}

export async function buildServer(
  context: Context,
  {
    limits = connectionLimits,
    bounds = connectionBounds(fileLimit()),
    corsOrigins = [],
    trustedProxies = [],
  }: ServerOptions = {},
): Promise<Server> {
  const lifecycle: Lifecycle = { stopping: false, ending: new AbortController(), secured: [] };
  const doors = openDoors(context, { bounds, firstByteMs: limits.firstByteMs, trustedProxies });
  const reception = { limits, doors };
  const listener = Promise.withResolvers<Listener>();
  const app = fastify({
    loggerInstance: context.log as FastifyBaseLogger,
    logController: new fastify.LogController({
      disableRequestLogging: true,
      requestIdLogLabel: "request_id",
    }),
    genReqId: (request) => (request as CountedRequest).requestId,
    serverFactory: (handler) => {
      const leads = leadsOf(context);
      const openPaths = context.e2b ? e2bPaths : undefined;
      const served = listenerOf(context, { corsOrigins: new Set(corsOrigins), openPaths, leads }, handler);
      listener.resolve(served);
      return httpServer(served, reception);
    },
    bodyLimit: PUBLIC_BODY_MAX_BYTES,
    schemaController: { compilersFactory: { buildSerializer } },
    trustProxy: trustedProxies.length > 0 && [...trustedProxies],
    routerOptions: { maxParamLength: PARAM_MAX_CHARS },
    return503OnClosing: false,
    forceCloseConnections: "idle",
    clientErrorHandler: answerBrokenHttp,
    frameworkErrors: sendError,
  });
  app.decorate("ending", lifecycle.ending.signal);
  app.setErrorHandler(sendError);
  app.setNotFoundHandler((request, reply) => sendError(nothingHere(), request, reply));
  const named = namedSchemasIn([ErrorResponse, operations]);
  app.setValidatorCompiler(validatorCompiler(named));
  // First, so that also what the next hooks refuse is counted under its route.
  noteRoutes(app);
  app.addHook("onRequest", async (_request, reply) => {
    if (!lifecycle.stopping) return;
    void reply.header("connection", "close");
    throw shuttingDown("it begins nothing new");
  });
  rejectAmbiguousHeaders(app);
  refuseStrayHosts(app);
  takeJsonOnly(app);
  limitJsonBodies(app, limits.bodyMs);
  registerSchemas(app, named);
  await registerOpenapi(app, operations);
  await registerAll(app, context);
  await app.ready();
  const served = await listener.promise;
  return {
    app,
    overTls: (pair, certificateFor) => {
      const server = httpsServer(served, reception, { pair, certificateFor });
      lifecycle.secured.push(server);
      return server;
    },
    stop: (graceMs) => stop(app, lifecycle, graceMs),
  };
}

function leadsOf({ sandboxDomain, hasLocalPorts, e2b }: Context): ((request: CountedRequest) => void)[] {
  return [
    ...(hasLocalPorts ? [leadByLocalName] : []),
    ...(sandboxDomain === undefined ? [] : [leadByHostName(sandboxDomain, e2b ? sandboxPort : undefined)]),
    ...(e2b ? [leadByPortHeader(sandboxPort)] : []),
  ];
}

async function registerAll(app: FastifyInstance, context: Context): Promise<void> {
  requireDeclarations(app);
  addAuditHook(app, context);
  addAuthenticateHook(app, context);
  // Before a body is read.
  app.addHook("onRequest", async (request) => {
    if (request.is404) throw nothingHere();
  });
  requireCreation(app);
  const refuse = answerMethodNotAllowed(app);
  for (const routes of allRoutes) registerRoutes(app, context, routes);
  await app.register(async (scope) => refuse(scope));
  if (context.e2b) await registerE2b(app, context);
}

function nothingHere(): SkerryError {
  return new SkerryError("not_found", "There is nothing at this path.");
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
