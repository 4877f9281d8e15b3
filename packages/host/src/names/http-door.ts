// Port 80 of guests whose policy decides by names: an HTTP/1.1 server that decides each request by its own `Host`, also on a kept or
// pipelined connection, and writes it anew to where the name leads. What follows a request in its bytes is never passed on unread.

import {
  createServer,
  request as ask,
  type Agent,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Duplex } from "node:stream";
import type { Socket } from "node:net";
import { pipeline } from "node:stream";
import { nameInHost } from "./decide-name.ts";
import { findWay } from "./find-way.ts";
import type { Connection, Destination, Guests } from "./guests.ts";
import { forwardedFields } from "./http-fields.ts";
import { ServerConnections } from "./server-connections.ts";

const HTTP_PORT = 80;
/** As servers have it. */
const HEAD_MAX_BYTES = 16 * 1_024;
const HEAD_DEADLINE_MS = 10_000;
const CONNECT_DEADLINE_MS = 10_000;
const KEPT_MS = 30_000;
const IDLE_DEADLINE_MS = 10 * 60_000;
const CHECK_MS = 1_000;
/** Under way on one connection: more than clients send ahead, of which apt is the most eager with ten. */
const PENDING_MAX = 16;
/** For a client to read why it is refused. */
const REFUSED_MS = 1_000;
const [FORBIDDEN, BAD_GATEWAY] = [403, 502];

interface Visit {
  readonly connection: Connection;
  /** Connections to servers are shared by the requests of one connection of one guest. */
  readonly agent: Agent;
  /** For each request that is not answered yet: aborted when it has been, or when the connection has gone. */
  readonly pending: Set<AbortController>;
}

export function httpDoor(guests: Guests): Server {
  const visits = new WeakMap<Duplex, Visit>();
  const server = createServer({
    maxHeaderSize: HEAD_MAX_BYTES,
    headersTimeout: HEAD_DEADLINE_MS,
    requestTimeout: 0,
    keepAliveTimeout: KEPT_MS,
    connectionsCheckingInterval: CHECK_MS,
    insecureHTTPParser: false,
    shouldUpgradeCallback: (request) => request.headers.upgrade?.toLowerCase() === "websocket",
  });
  server.timeout = IDLE_DEADLINE_MS;
  server.on("connection", (client: Socket) => {
    client.on("error", () => client.destroy());
    const connection = guests.admit(client.remoteAddress ?? "", HTTP_PORT, client);
    if (connection === undefined) return void client.resetAndDestroy();
    const agent = new ServerConnections(guests, connection.guest);
    const visit: Visit = { connection, agent, pending: new Set() };
    visits.set(client, visit);
    client.once("close", () => {
      guests.release(connection);
      // A response that waits behind another one on the connection gets no `close` of its own in every version of node.
      for (const request of visit.pending) request.abort();
      agent.destroy();
    });
  });
  server.on("request", (request, response) => {
    const visit = visits.get(request.socket);
    if (visit === undefined || visit.pending.size === PENDING_MAX || request.socket.destroyed)
      return void request.socket.destroy();
    const { guest } = visit.connection;
    const free = guests.admitRequest(guest, HTTP_PORT, request.socket);
    if (free === undefined) return void request.socket.destroy();
    const underWay = new AbortController();
    visit.pending.add(underWay);
    underWay.signal.addEventListener("abort", () => {
      visit.pending.delete(underWay);
      free();
    });
    response.once("close", () => underWay.abort());
    response.on("error", () => request.socket.destroy());
    void wayOf(visit, request)
      .then((decision) => pass(decision, { request, response, over: underWay.signal }))
      .catch(() => request.socket.destroy());
  });
  server.on("upgrade", (request, client, head) => {
    client.unshift(head);
    void wayOf(visits.get(request.socket), request)
      .then((decision) => passUpgrade(decision, request, client))
      .catch(() => client.destroy());
  });
  const refuse = (client: Duplex): void => {
    visits.get(client)?.connection.guest.refuse({ rule: "no_domain", port: HTTP_PORT, protocol: "tcp" });
    endWith(client, FORBIDDEN, "this is no HTTP request whose server can be told");
  };
  server.on("connect", (_request, client) => refuse(client));
  server.on("clientError", (error, client) => {
    if ("code" in error && error.code === "ECONNRESET") return void client.destroy();
    refuse(client);
  });
  return server;
}

type Decision =
  /** Call `end` when nothing of the request is under way any more. */
  | { readonly to: Destination; readonly agent: Agent; readonly end: () => void }
  | { readonly refused: string; readonly status: number };

async function wayOf(visit: Visit | undefined, request: IncomingMessage): Promise<Decision> {
  if (visit === undefined) return { refused: "the connection is unknown", status: FORBIDDEN };
  const { guest, destinations } = visit.connection;
  await guest.takeTurn();
  const asked = nameAsked(request);
  if (typeof asked === "object") {
    guest.refuse({ rule: "no_domain", port: HTTP_PORT, protocol: "tcp" });
    return { refused: asked.fault, status: FORBIDDEN };
  }
  const way = await findWay(guest, asked, HTTP_PORT);
  if (way.kind !== "open")
    return { refused: way.why, status: way.kind === "refused" ? FORBIDDEN : BAD_GATEWAY };
  destinations.add(way.to);
  return { to: way.to, agent: visit.agent, end: () => void destinations.delete(way.to) };
}

/** The canonical name that the request is for. */
function nameAsked({ rawHeaders, url = "" }: IncomingMessage): string | { readonly fault: string } {
  const hosts = rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === "host",
  );
  const [host] = hosts;
  if (host === undefined || hosts.length > 1) return { fault: "a request needs exactly one Host" };
  const name = nameInHost(host, HTTP_PORT);
  if (name === undefined) return { fault: "its Host is not a name" };
  if (url.startsWith("/") || url === "*") return name;
  const [, authority = ""] = /^http:\/\/([^/?#]*)/i.exec(url) ?? [];
  return nameInHost(authority, HTTP_PORT) === name ? name : { fault: "its target and its Host do not agree" };
}

/** The target as a server itself gets it. */
function pathOf({ url = "/" }: IncomingMessage): string {
  const path = url.replace(/^http:\/\/[^/?#]*/i, "");
  return path.startsWith("?") || path === "" ? `/${path}` : path;
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Aborted when there is nothing to answer any more. */
  readonly over: AbortSignal;
}

function pass(decision: Decision, { request, response, over }: Exchange): void {
  response.sendDate = false;
  const fail = (status: number, why: string): void => {
    if (response.headersSent) return void request.socket.destroy();
    response.writeHead(status, { "content-type": "text/plain", connection: "close" }).end(`${why}\n`);
  };
  if ("refused" in decision) return over.aborted ? undefined : fail(decision.status, decision.refused);
  const { to, agent, end } = decision;
  if (over.aborted) return end();
  const onward = ask({
    ...{
      host: to.address,
      port: HTTP_PORT,
      agent,
      method: request.method,
      path: pathOf(request),
      setHost: false,
    },
    headers: forwardedFields(request.rawHeaders),
  });
  limitConnecting(onward);
  onward.on("error", () => fail(BAD_GATEWAY, "the server cannot be reached"));
  onward.once("response", (answer) => {
    if (!beginAnswer(answer, response)) return void request.socket.destroy();
    pipeline(answer, response, (error) => error && request.socket.destroy());
  });
  over.addEventListener("abort", () => {
    end();
    onward.destroy();
  });
  pipeline(request, onward, () => undefined);
}

/** False where the server's status or fields are none that may be passed on: the parser takes more than the writer, which throws. */
function beginAnswer(answer: IncomingMessage, response: ServerResponse): boolean {
  try {
    response.writeHead(
      answer.statusCode ?? BAD_GATEWAY,
      answer.statusMessage,
      forwardedFields(answer.rawHeaders),
    );
    return true;
  } catch {
    return false;
  }
}

/** A server that agrees speaks with the guest from then on, and only it: the connection is made for this request alone. */
function passUpgrade(decision: Decision, request: IncomingMessage, client: Duplex): void {
  if ("refused" in decision) return endWith(client, decision.status, decision.refused);
  if (client.destroyed) return;
  const onward = ask({
    ...{
      host: decision.to.address,
      port: HTTP_PORT,
      agent: false,
      method: request.method,
      path: pathOf(request),
    },
    ...{
      setHost: false,
      headers: [...forwardedFields(request.rawHeaders), "Connection", "Upgrade", "Upgrade", "websocket"],
    },
  });
  limitConnecting(onward);
  client.once("close", () => onward.destroy());
  onward.on("error", () => endWith(client, BAD_GATEWAY, "the server cannot be reached"));
  onward.once("response", (answer) => {
    answer.on("error", () => undefined).resume();
    endWith(client, BAD_GATEWAY, `the server answers the upgrade with ${answer.statusCode}`);
  });
  onward.once("upgrade", (answer, server, head) => {
    const fields = answer.rawHeaders
      .map((text, index) => (index % 2 === 0 ? `${text}: ` : `${text}\r\n`))
      .join("");
    client.write(`HTTP/1.1 101 Switching Protocols\r\n${fields}\r\n`);
    client.write(head);
    server.on("error", () => client.destroy());
    pipeline(client, server, client, () => undefined);
  });
  onward.end();
}

function limitConnecting(onward: ReturnType<typeof ask>): void {
  const timer = setTimeout(
    () => onward.destroy(new Error("the server does not answer")),
    CONNECT_DEADLINE_MS,
  );
  const connectedOrGone = (): void => clearTimeout(timer);
  onward.once("socket", (socket) =>
    socket.connecting ? socket.once("connect", connectedOrGone) : connectedOrGone(),
  );
  onward.once("close", connectedOrGone);
}

/** The answer to what has no response of its own. The client may not hold the connection by sending on. */
function endWith(client: Duplex, status: number, why: string): void {
  const head = [
    `HTTP/1.1 ${status} ${status === FORBIDDEN ? "Forbidden" : "Bad Gateway"}`,
    "content-type: text/plain",
    `content-length: ${why.length + 1}`,
    "connection: close",
  ];
  client.end(`${head.join("\r\n")}\r\n\r\n${why}\n`);
  client.resume();
  const timer = setTimeout(() => client.destroy(), REFUSED_MS);
  client.once("close", () => clearTimeout(timer));
}
