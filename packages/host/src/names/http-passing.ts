// Passes HTTP/1.1 requests of guests on: each is decided by itself, also on a kept or pipelined connection,
// and written anew to where its name leads. Bytes behind a request are never passed on unread.

import {
  createServer,
  request as ask,
  type Agent,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream";
import type { Connection, Destination, Guests } from "./guests.ts";
import { forwardedFields } from "./http-fields.ts";
import type { ServerConnections } from "./server-connections.ts";
import { without } from "./injecting.ts";
import { HiddenTexts } from "./hidden-texts.ts";

/** The bound that common servers have. */
const HEAD_MAX_BYTES = 16 * 1_024;
const HEAD_DEADLINE_MS = 10_000;
const CONNECT_DEADLINE_MS = 10_000;
const KEPT_MS = 30_000;
const IDLE_DEADLINE_MS = 10 * 60_000;
const CHECK_MS = 1_000;
/** Under way on one connection: more than clients send ahead, of which apt is the most eager with ten. */
const PENDING_MAX = 16;
const UPGRADED_LISTENERS_MAX = 20;
/** For a client to read why it is refused. */
const REFUSED_MS = 1_000;
export const [FORBIDDEN, MISDIRECTED, BAD_GATEWAY] = [403, 421, 502];
const REASONS: Readonly<Record<number, string>> = {
  [FORBIDDEN]: "Forbidden",
  [MISDIRECTED]: "Misdirected Request",
  [BAD_GATEWAY]: "Bad Gateway",
};

export interface Visit<Site> {
  readonly connection: Connection;
  readonly site: Site;
  /** Connections to servers are shared by the requests of one connection of one guest. */
  readonly agent: ServerConnections;
  /** For each request that is not answered yet: aborted when it has been, or when the connection has gone. */
  readonly pending: Set<AbortController>;
}

export interface Passed {
  readonly to: Destination;
  readonly path: string;
  /** Names and values by turns. */
  readonly fields: string[];
  /** Texts that the answer must not show. */
  readonly hidden: readonly string[];
}

export type Decision = Passed | { readonly refused: string; readonly status: number };

interface PassingOptions<Site> {
  readonly guests: Guests;
  readonly port: number;
  readonly decide: (visit: Visit<Site>, request: IncomingMessage) => Promise<Decision>;
}

export class HttpPassing<Site> {
  readonly server: Server;
  readonly #options: PassingOptions<Site>;
  readonly #visits = new WeakMap<Duplex, Visit<Site>>();

  constructor(options: PassingOptions<Site>) {
    this.#options = options;
    this.server = createServer({
      maxHeaderSize: HEAD_MAX_BYTES,
      headersTimeout: HEAD_DEADLINE_MS,
      requestTimeout: 0,
      keepAliveTimeout: KEPT_MS,
      connectionsCheckingInterval: CHECK_MS,
      insecureHTTPParser: false,
      shouldUpgradeCallback: (request) => request.headers.upgrade?.toLowerCase() === "websocket",
    });
    this.server.timeout = IDLE_DEADLINE_MS;
    this.server.on("request", (request, response) => this.#take(request, response));
    this.server.on("upgrade", (request, client, head) => {
      client.unshift(head);
      const visit = this.#visits.get(request.socket);
      if (visit === undefined) return void client.destroy();
      void this.#wayOf(visit, request)
        .then((decision) => this.#passUpgrade(visit, decision, { request, client }))
        .catch(() => client.destroy());
    });
    this.server.on("connect", (_request, client) => this.#refuse(client));
    this.server.on("clientError", (error, client) => {
      if ("code" in error && error.code === "ECONNRESET") return void client.destroy();
      this.#refuse(client);
    });
  }

  /** Requests that come on this connection from now on are passed. */
  enter(client: Duplex, visit: Omit<Visit<Site>, "pending">): void {
    const pending = new Set<AbortController>();
    this.#visits.set(client, { ...visit, pending });
    client.once("close", () => {
      // A response that waits behind another one on the connection gets no `close` of its own in every
      // version of node.
      for (const request of pending) request.abort();
      visit.agent.destroy();
    });
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    const { guests, port } = this.#options;
    const visit = this.#visits.get(request.socket);
    if (visit === undefined || visit.pending.size === PENDING_MAX || request.socket.destroyed)
      return void request.socket.destroy();
    const { guest } = visit.connection;
    const free = guests.admitRequest(guest, port, request.socket);
    if (free === undefined) return void request.socket.destroy();
    const underWay = new AbortController();
    visit.pending.add(underWay);
    underWay.signal.addEventListener("abort", () => {
      visit.pending.delete(underWay);
      free();
    });
    response.once("close", () => underWay.abort());
    response.on("error", () => request.socket.destroy());
    void this.#wayOf(visit, request)
      .then((decision) => this.#pass(visit, decision, { request, response, over: underWay.signal }))
      .catch(() => request.socket.destroy());
  }

  async #wayOf(visit: Visit<Site>, request: IncomingMessage): Promise<Decision> {
    await visit.connection.guest.takeTurn();
    const decision = await this.#options.decide(visit, request);
    if ("to" in decision) visit.connection.destinations.add(decision.to);
    return decision;
  }

  #refuse(client: Duplex): void {
    const { port } = this.#options;
    this.#visits.get(client)?.connection.guest.refuse({ rule: "no_domain", port, protocol: "tcp" });
    endWith(client, FORBIDDEN, "this is no HTTP request whose server can be told");
  }

  #pass(visit: Visit<Site>, decision: Decision, { request, response, over }: Exchange): void {
    response.sendDate = false;
    const fail = (status: number, why: string): void => {
      if (response.headersSent) return void request.socket.destroy();
      response.writeHead(status, { "content-type": "text/plain", connection: "close" }).end(`${why}\n`);
    };
    if ("refused" in decision) return over.aborted ? undefined : fail(decision.status, decision.refused);
    const { to } = decision;
    const end = (): void => void visit.connection.destinations.delete(to);
    if (over.aborted) return end();
    const onward = this.#ask(decision, request, visit.agent);
    onward.on("error", (error) => fail(BAD_GATEWAY, whyNot(error)));
    onward.once("response", (answer) => {
      const hidden = new HiddenTexts(decision.hidden);
      if (!hidden.isEmpty && isEncoded(answer.headers["content-encoding"])) {
        answer.destroy();
        return fail(BAD_GATEWAY, "the server's answer is encoded, and could show a secret");
      }
      if (!beginAnswer(answer, response, hidden)) return void request.socket.destroy();
      const ended = (error: unknown): void => void (error && request.socket.destroy());
      if (hidden.isEmpty) pipeline(answer, response, ended);
      else pipeline(answer, hidden.filter(), response, ended);
    });
    over.addEventListener("abort", () => {
      end();
      onward.destroy();
    });
    pipeline(request, onward, () => undefined);
  }

  /**
   * A server that agrees speaks with the guest from then on, and only it: the connection is made for this
   * request alone.
   */
  #passUpgrade(visit: Visit<Site>, decision: Decision, { request, client }: Upgrade): void {
    if ("refused" in decision) return endWith(client, decision.status, decision.refused);
    if (client.destroyed) return;
    const own = visit.agent.alone();
    client.once("close", () => own.destroy());
    // An answer that is compressed could not be searched.
    const plain =
      decision.hidden.length > 0 ? without(decision.fields, "sec-websocket-extensions") : decision.fields;
    const fields = [...plain, "Connection", "Upgrade", "Upgrade", "websocket"];
    const onward = this.#ask({ ...decision, fields }, request, own);
    const hidden = new HiddenTexts(decision.hidden);
    client.once("close", () => onward.destroy());
    onward.on("error", (error) => endWith(client, BAD_GATEWAY, whyNot(error)));
    onward.once("response", (answer) => {
      answer.on("error", () => undefined).resume();
      endWith(client, BAD_GATEWAY, `the server answers the upgrade with ${answer.statusCode}`);
    });
    onward.once("upgrade", (answer, server, head) => {
      const texts = hidden.hide(answer.rawHeaders);
      const lines = texts.map((text, index) => (index % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join("");
      client.write(`HTTP/1.1 101 Switching Protocols\r\n${lines}\r\n`);
      server.unshift(head);
      server.on("error", () => client.destroy());
      // Each direction of a pipeline listens for all that may befall both ends.
      client.setMaxListeners(UPGRADED_LISTENERS_MAX);
      const ended = (): void => void client.destroy();
      pipeline(client, server, ended);
      if (hidden.isEmpty) pipeline(server, client, ended);
      else pipeline(server, hidden.filter(), client, ended);
    });
    onward.end();
  }

  #ask({ to, path, fields }: Passed, { method }: IncomingMessage, agent: Agent) {
    const { port } = this.#options;
    const onward = ask({
      ...{ host: to.address, port, agent, method, path, headers: fields },
      setHost: false,
    });
    limitConnecting(onward);
    return onward;
  }
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Aborted when there is nothing to answer any more. */
  readonly over: AbortSignal;
}

interface Upgrade {
  readonly request: IncomingMessage;
  readonly client: Duplex;
}

/** The target as a server itself gets it. */
export function pathOf({ url = "/" }: IncomingMessage): string {
  const path = url.replace(/^https?:\/\/[^/?#]*/i, "");
  return path.startsWith("?") || path === "" ? `/${path}` : path;
}

/**
 * False where the server's status or fields are none that may be passed on: the parser takes more than the
 * writer, which throws.
 */
function beginAnswer(answer: IncomingMessage, response: ServerResponse, hidden: HiddenTexts): boolean {
  try {
    const status = answer.statusCode ?? BAD_GATEWAY;
    const [reason = ""] = hidden.hide([answer.statusMessage ?? ""]);
    response.writeHead(status, reason, hidden.hide(forwardedFields(answer.rawHeaders)));
    return true;
  } catch {
    return false;
  }
}

export function isEncoded(encoding: string | undefined): boolean {
  return encoding !== undefined && encoding.toLowerCase() !== "identity";
}

/** The guest hears of the server's certificate, and of nothing else of the network that it is not in. */
function whyNot(error: Error): string {
  const code = "code" in error ? String(error.code) : "";
  const isCertificate = /CERT|ALTNAME|SIGNATURE|ISSUER/.test(code);
  return isCertificate ? `the server's certificate is not trusted: ${code}` : "the server cannot be reached";
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
    `HTTP/1.1 ${status} ${REASONS[status]}`,
    "content-type: text/plain",
    `content-length: ${why.length + 1}`,
    "connection: close",
  ];
  client.end(`${head.join("\r\n")}\r\n\r\n${why}\n`);
  client.resume();
  const timer = setTimeout(() => client.destroy(), REFUSED_MS);
  client.once("close", () => clearTimeout(timer));
}
