// Requests that want to become a WebSocket. They meet the same hooks and routes as all others: a route that takes none answers it like any
// request, and the connection ends with that answer.

import type { IncomingMessage, Server as HttpServer } from "node:http";
import type { Server as HttpsServer } from "node:https";
import type { Socket } from "node:net";
import type { FastifyRequest } from "fastify";
import { WebSocketServer, type WebSocket } from "ws";
import { SkerryError } from "@skerry/contract/errors";
import { CountedResponse, countedRequestOf, type CountedRequest } from "./counted-request.ts";
import type { Listener } from "./http-server.ts";

/** Larger messages end a connection: what is sent in one piece is held in one. */
const MESSAGE_MAX_BYTES = 1024 * 1024;

/** For `createServer`. Any other upgrade is passed over, as the standard allows, and its request answered. */
export function isWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === "GET" && headers.upgrade?.toLowerCase() === "websocket";
}

interface Upgrade {
  readonly socket: Socket;
  readonly head: Buffer;
  readonly response: CountedResponse;
}

const upgrades = new WeakMap<CountedRequest, Upgrade>();

export function acceptUpgrades(server: HttpServer | HttpsServer, listener: Listener): void {
  server.on("upgrade", (request: CountedRequest, socket: Socket, head: Buffer) => {
    const response = new CountedResponse(request);
    response.shouldKeepAlive = false;
    socket.on("error", () => undefined); // "close" follows
    response.assignSocket(socket);
    response.once("finish", () => socket.end());
    upgrades.set(request, { socket, head, response });
    listener(request, response);
  });
}

const sockets = new WebSocketServer({
  noServer: true,
  clientTracking: false,
  // A peer could make the work of both sides as large as it likes.
  perMessageDeflate: false,
  maxPayload: MESSAGE_MAX_BYTES,
  handleProtocols: (offered, { headers }) => {
    const wanted = headers[SPOKEN];
    return typeof wanted === "string" && offered.has(wanted) ? wanted : false;
  },
});

/** Set for the library alone, once the request was checked. */
const SPOKEN = "x-skerry-spoken-protocol";

/** Throws `upgrade_required` where the request wants to be none, and `bad_request` where it speaks another protocol. */
export function checkUpgrade(request: FastifyRequest, protocol: string): void {
  if (!upgrades.has(countedRequestOf(request)))
    throw new SkerryError("upgrade_required", "This call is a WebSocket.", {
      remediation: `Connect to it with \`ws:\` or \`wss:\` and the subprotocol \`${protocol}\`.`,
    });
  const { headers } = request;
  const isSane =
    headers["sec-websocket-version"] === "13" && /^[\w+/]{22}==$/.test(String(headers["sec-websocket-key"]));
  if (!isSane) throw new SkerryError("bad_request", "The request begins no WebSocket of version 13.");
  const offered = offeredProtocols(request);
  if (offered.length > 0 && !offered.includes(protocol))
    throw new SkerryError("bad_request", "The WebSocket speaks none of the offered subprotocols.", {
      remediation: `Offer \`${protocol}\`.`,
    });
}

export function offeredProtocols({ headers }: FastifyRequest): string[] {
  const text = headers["sec-websocket-protocol"] ?? "";
  return text.split(",").flatMap((one) => (one.trim() === "" ? [] : [one.trim()]));
}

/** Answers 101. The caller has checked the request, and has told the framework to forget it. */
export function upgrade(request: FastifyRequest, protocol: string): Promise<WebSocket> {
  const raw = countedRequestOf(request);
  const found = upgrades.get(raw);
  if (found === undefined) throw new Error("the request is no upgrade");
  raw.headers[SPOKEN] = protocol;
  found.response.isUpgraded = true;
  return new Promise((resolve, reject) => {
    found.socket.once("close", () => reject(new SkerryError("canceled", "The client went away.")));
    sockets.handleUpgrade(raw, found.socket, found.head, resolve);
  });
}
