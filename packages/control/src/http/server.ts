import { createServer, type Server as HttpServer } from "node:http";
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyServerFactoryHandler,
} from "fastify";
import { SkerryError } from "@skerry/contract/errors";
import type { Context } from "../services/context.ts";
import { bindAccess } from "./access.ts";
import { requireAccess } from "./auth.ts";
import { takeJsonOnly } from "./bodies.ts";
import { requireCreation } from "./creation.ts";
import { egressRoutes } from "./egress.ts";
import { answerBrokenHttp, sendError } from "./errors.ts";
import { executeRoutes } from "./execute.ts";
import { fileRoutes } from "./files.ts";
import { healthRoutes } from "./health.ts";
import { CountedRequest, CountedResponse } from "./messages.ts";
import { metricsRoute } from "./metrics.ts";
import { refuseOtherMethods } from "./methods.ts";
import { openapiRoute, registerOpenapi } from "./openapi.ts";
import { logRequest, statusOf } from "./request-log.ts";
import { countBegin, countEnd, noteRoutes } from "./request-metrics.ts";
import { sandboxLifetimeRoutes, sandboxRoutes } from "./sandboxes.ts";
import { registerSchemas } from "./schemas.ts";
import { statusRoutes } from "./status.ts";
import { templateRoutes } from "./templates.ts";
import { tokenRoutes } from "./tokens.ts";
import { cutUnreadBody } from "./unread-bodies.ts";
import { validatorCompiler } from "./validation.ts";

/** Largest JSON body. The largest that can be right, a full environment, is far below. */
const JSON_BODY_MAX_BYTES = 1024 * 1024;

/** How long a connection may take. There is no limit on a whole request: an upload lasts as long as its line is slow. */
export interface ConnectionLimits {
  /** For the head of a request. */
  readonly headMs: number;
  /** In silence, both ways. */
  readonly idleMs: number;
  /** Pause between two looks for heads that are late. */
  readonly checkMs: number;
}

const connectionLimits: ConnectionLimits = {
  headMs: 60_000,
  // The longest silence with a reason is a command of 5 min.
  idleMs: 6 * 60_000,
  checkMs: 10_000,
};

/** An encoded path: three characters for each of 4,095 bytes, and more to say that it is too long. */
const PARAM_MAX_CHARS = 16_000;

export interface Server {
  readonly app: FastifyInstance;
  /** Stops accepting, answers 503 on kept connections, waits for what is in flight, at most this long. */
  stop(graceMs: number): Promise<void>;
}

export async function buildServer(
  context: Context,
  limits: ConnectionLimits = connectionLimits,
): Promise<Server> {
  const lifecycle: Lifecycle = { stopping: false, ending: new AbortController() };
  const app = fastify({
    loggerInstance: context.log as FastifyBaseLogger,
    logController: new fastify.LogController({
      disableRequestLogging: true,
      requestIdLogLabel: "request_id",
    }),
    genReqId: (request) => (request as CountedRequest).requestId,
    serverFactory: (handler) => countingServer({ context, limits }, handler),
    bodyLimit: JSON_BODY_MAX_BYTES,
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
  takeJsonOnly(app);
  registerSchemas(app);
  await registerOpenapi(app);
  await registerRoutes(app, context);
  await app.ready();
  return { app, stop: (graceMs) => stop(app, lifecycle, graceMs) };
}

/** The framework applies no time limit of its own to a server that we make, so all of them are here. */
function countingServer(
  { context, limits }: { readonly context: Context; readonly limits: ConnectionLimits },
  handler: FastifyServerFactoryHandler,
): HttpServer {
  const server = createServer(
    {
      IncomingMessage: CountedRequest,
      ServerResponse: CountedResponse,
      keepAliveTimeout: KEEPALIVE_MS,
      requestTimeout: 0,
      headersTimeout: limits.headMs,
      connectionsCheckingInterval: limits.checkMs,
    },
    (request, response) => {
      // Here and not in a hook, so that answers outside the framework's routes carry it too.
      response.setHeader("x-request-id", request.requestId);
      countBegin(context.metrics);
      response.once("close", () => {
        countEnd(context.metrics, request, statusOf(response));
        logRequest(context.log, request, response);
      });
      cutUnreadBody(request, response);
      handler(request, response);
    },
  );
  server.setTimeout(limits.idleMs);
  // A server of subclasses serves wherever one of their bases does; the types only lack variance.
  return server as unknown as HttpServer;
}

/** Longer than usual proxies keep an idle connection, so that it is they who close it. */
const KEEPALIVE_MS = 75_000;

async function registerRoutes(app: FastifyInstance, context: Context): Promise<void> {
  bindAccess(app);
  requireAccess(app, context);
  requireCreation(app);
  const refuse = refuseOtherMethods(app);
  await app.register(healthRoutes);
  openapiRoute(app);
  await app.register(statusRoutes(context));
  await app.register(metricsRoute(context));
  await app.register(templateRoutes(context));
  await app.register(tokenRoutes(context));
  await app.register(sandboxRoutes(context));
  await app.register(sandboxLifetimeRoutes(context));
  await app.register(egressRoutes(context));
  await app.register(executeRoutes(context));
  await app.register(fileRoutes(context));
  await app.register(async (scope) => refuse(scope));
}

interface Lifecycle {
  stopping: boolean;
  readonly ending: AbortController;
}

const IDLE_SWEEP_MS = 50;
/** What is still in flight this long before its time is over is ended by us, so that its client hears why. */
const LAST_WORD_MS = 1_000;

async function stop(app: FastifyInstance, lifecycle: Lifecycle, graceMs: number): Promise<void> {
  lifecycle.stopping = true;
  const end = setTimeout(
    () => lifecycle.ending.abort(shuttingDown("what was running for this request was ended")),
    Math.max(0, graceMs - LAST_WORD_MS),
  );
  const cut = setTimeout(() => app.server.closeAllConnections(), graceMs);
  // A kept connection whose last answer has just gone out would otherwise be waited for.
  const sweep = setInterval(() => app.server.closeIdleConnections(), IDLE_SWEEP_MS);
  await app.close();
  clearTimeout(end);
  clearTimeout(cut);
  clearInterval(sweep);
}

function shuttingDown(what: string): SkerryError {
  return new SkerryError("shutting_down", `The control plane is shutting down; ${what}.`, {
    remediation: "Try again in a few seconds.",
    retryAfterS: 5,
  });
}
