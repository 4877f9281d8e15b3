// Requests that want to become a WebSocket. They meet the same hooks and routes as all others: a route that takes none answers it like any
// request, and the connection ends with that answer.

import type { IncomingMessage, Server as HttpServer } from "node:http";
import type { Server as HttpsServer } from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { FastifyRequest } from "fastify";
import { WebSocketServer, type WebSocket } from "ws";
import { SkerryError } from "@skerry/contract/errors";
import { CountedResponse, countedRequestOf, type CountedRequest } from "./counted-request.ts";
import type { Listener } from "./counted-request.ts";
import { LINGER_MS } from "./unread-bodies.ts";

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
    response.once("finish", () => endRefused(socket));
    upgrades.set(request, { socket, head, response });
    listener(request, response);
  });
}

/** Node has taken its deadlines off the socket of an upgrade, so a client that does not end its own side would keep it. */
function endRefused(socket: Socket): void {
  socket.end();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once("close", () => clearTimeout(timer));
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

/** Whether the request wants to become a WebSocket. */
export function isUpgrade(request: CountedRequest): boolean {
  return upgrades.has(request);
}

/** One in which nothing moves for so long is taken for forgotten: a side that waits for its peer does not hear of its end. */
const SILENCE_MAX_MS = 3_600_000;

/** Answers 101 with these header fields and hands the connection over as it is, for a WebSocket that is spoken elsewhere. */
export function upgradeRaw(request: CountedRequest, headers: Readonly<Record<string, string>>): Duplex {
  const found = upgrades.get(request);
  if (found === undefined) throw new Error("the request is no upgrade");
  const { socket, head, response } = found;
  response.isUpgraded = true;
  const fields = Object.entries({ ...headers, connection: "Upgrade", upgrade: "websocket" });
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines}\r\n`, "latin1");
  socket.setTimeout(SILENCE_MAX_MS, () => socket.destroy());
  if (head.length > 0) socket.unshift(head);
  return socket;
}
