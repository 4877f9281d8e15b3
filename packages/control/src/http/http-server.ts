// The servers beneath the framework, with and without TLS: their limits, and what happens to every request before and after a route.

import { createServer, type Server as HttpServer } from "node:http";
import { createServer as createTlsServer, type Server as HttpsServer } from "node:https";
import type { SecureContext } from "node:tls";
import type { Doors } from "@skerry/contract/connections/doors";
import type { FastifyServerFactoryHandler } from "fastify";
import type { Logger } from "pino";
import type { Metrics } from "../metrics/metrics.ts";
import { setResponseHeaders } from "./response-headers.ts";
import { answerCors, answerOpenCors } from "./cors.ts";
import { answerBrokenHttp } from "./errors.ts";
import { originForm } from "./request-headers.ts";
import { CountedRequest, CountedResponse, type Listener } from "./counted-request.ts";
import { logRequest, statusOf } from "./log-request.ts";
import { countRequestBegin, countRequestEnd } from "./count-requests.ts";
import { acceptUpgrades, isWebSocket } from "./upgrades.ts";
import { cutUnreadBody } from "./unread-bodies.ts";

/** How long a connection may take. There is no limit on a whole request: an upload lasts as long as its line is slow. */
export interface ConnectionLimits {
  /** For the first byte, and for a TLS handshake. */
  readonly firstByteMs: number;
  /** For the head of a request. */
  readonly headMs: number;
  /** For a body of JSON. */
  readonly bodyMs: number;
  /** In silence, both ways. */
  readonly idleMs: number;
  /** Pause between two looks for heads that are late. */
  readonly checkMs: number;
}

export const connectionLimits: ConnectionLimits = {
  firstByteMs: 10_000,
  headMs: 60_000,
  bodyMs: 60_000,
  // The longest silence with a reason is a command of 5 min.
  idleMs: 6 * 60_000,
  checkMs: 10_000,
};

/** Certificate chain and private key, as PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

/** Where requests are logged and counted. */
export interface RequestSinks {
  readonly log: Logger;
  readonly metrics: Metrics;
}

export interface ListenerOptions {
  readonly corsOrigins: ReadonlySet<string>;
  /** Paths that pages of all origins may call, as far as they have a token. */
  readonly openPaths?: RegExp | undefined;
  /** Each leads what is for a port, by its name or by a header, to the path of that port. */
  readonly leads?: readonly ((request: CountedRequest) => void)[];
}

/** Everything that a route cannot do, because it must also be done where there is none. */
export function listenerOf(
  { log, metrics }: RequestSinks,
  { corsOrigins, openPaths, leads = [] }: ListenerOptions,
  handler: FastifyServerFactoryHandler,
): Listener {
  return (request, response) => {
    request.url = originForm(request.url ?? "");
    for (const lead of leads) lead(request);
    response.setHeader("x-request-id", request.requestId);
    setResponseHeaders(request, response);
    countRequestBegin(metrics);
    response.once("close", () => {
      countRequestEnd(metrics, request, statusOf(response));
      logRequest(log, request, response);
    });
    cutUnreadBody(request, response);
    const isAnswered =
      openPaths?.test(request.url ?? "") === true
        ? answerOpenCors(request, response)
        : // Who may call a port from a page, what listens there decides.
          request.portHost === undefined && answerCors(corsOrigins, request, response);
    if (!isAnswered) handler(request, response);
  };
}

/** What a server does with connections. */
export interface Reception {
  readonly limits: ConnectionLimits;
  readonly doors: Doors;
}

export function httpServer(listener: Listener, { limits, doors }: Reception): HttpServer {
  const server = createServer(optionsOf(limits), doors.bounded(listener));
  doors.guard(server);
  acceptUpgrades(server as unknown as HttpServer, listener);
  // A server of subclasses serves wherever one of their bases does; the types only lack variance.
  return limited(server as unknown as HttpServer, limits);
}

/** The certificate for a name that a client wants; undefined: the server's own. */
export type CertificateFor = (name: string) => SecureContext | undefined;

export function httpsServer(
  listener: Listener,
  { limits, doors }: Reception,
  { pair, certificateFor = () => undefined }: { pair: KeyPair; certificateFor?: CertificateFor | undefined },
): HttpsServer {
  const options = {
    ...{ ...optionsOf(limits), ...pair, handshakeTimeout: limits.firstByteMs },
    SNICallback: (name: string, done: (error: Error | null, context?: SecureContext) => void) =>
      done(null, certificateFor(name)),
  };
  const server = createTlsServer(options, doors.bounded(listener)) as unknown as HttpsServer;
  doors.guardTls(server);
  acceptUpgrades(server, listener);
  return limited(server, limits).on("clientError", answerBrokenHttp);
}

/** Longer than usual proxies keep an idle connection, so that it is they who close it. */
const KEEPALIVE_MS = 75_000;

/** The framework applies no limit of its own to a server that we make, so all of them are here. */
function optionsOf(limits: ConnectionLimits) {
  return {
    IncomingMessage: CountedRequest,
    ServerResponse: CountedResponse,
    keepAliveTimeout: KEEPALIVE_MS,
    requestTimeout: 0,
    shouldUpgradeCallback: isWebSocket,
    headersTimeout: limits.headMs,
    connectionsCheckingInterval: limits.checkMs,
    maxHeaderSize: HEAD_MAX_BYTES,
    // Node's own answer is none of ours; `request-headers.ts` refuses.
    requireHostHeader: false,
  };
}

const HEAD_MAX_BYTES = 16 * 1024;

function limited<Server extends HttpServer | HttpsServer>(server: Server, limits: ConnectionLimits): Server {
  // Beyond a number Node drops fields in silence; `request-headers.ts` refuses instead, and the head's size bounds them anyway.
  server.maxHeadersCount = 0;
  server.setTimeout(limits.idleMs);
  return server;
}
