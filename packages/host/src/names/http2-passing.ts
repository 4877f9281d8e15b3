// Passes HTTP/2 requests of a guest on to a server that speaks it, each decided by itself. Trailers of
// answers pass, which gRPC needs. WebSockets over HTTP/2 are not offered, and clients open them over
// HTTP/1.1.

import {
  connect,
  constants,
  performServerHandshake,
  sensitiveHeaders,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import { pipeline } from "node:stream";
import type { TLSSocket } from "node:tls";
import { nameInHost } from "./decide-name.ts";
import type { Connection, Destination, Guests } from "./guests.ts";
import { HiddenTexts } from "./hidden-texts.ts";
import { forwardedFields } from "./http-fields.ts";
import {
  BAD_GATEWAY,
  FORBIDDEN,
  isEncoded,
  MISDIRECTED,
  type Decision,
  type Passed,
} from "./http-passing.ts";
import type { Asked } from "./injecting.ts";

const TLS_PORT = 443;
const STREAM_LISTENERS_MAX = 20;
const IDLE_DEADLINE_MS = 10 * 60_000;
const SETTINGS = { enablePush: false, maxConcurrentStreams: 64, maxHeaderListSize: 16 * 1_024 };

export interface Http2Site {
  readonly guests: Guests;
  readonly connection: Connection;
  /** The server, whose name the ClientHello has. */
  readonly to: Destination;
  /** Connection to it. */
  readonly first: TLSSocket;
  /** Another one to an address of it, where it has ended the one before. */
  readonly again: (address: string) => Promise<TLSSocket>;
  readonly decide: (asked: Asked) => Promise<Decision>;
}

/** `client`: a connection whose handshake is over. */
export function passHttp2(client: TLSSocket, site: Http2Site): void {
  if (client.destroyed) return;
  const session = performServerHandshake(client, { settings: SETTINGS });
  const server = new ServerSession(site);
  // A policy that forbids the address cuts the guest's connection, also between requests.
  site.connection.destinations.add(site.to);
  session.setTimeout(IDLE_DEADLINE_MS, () => session.destroy());
  session.on("error", () => session.destroy());
  session.once("close", () => {
    server.destroy();
    client.destroy();
  });
  session.on("stream", (stream, _headers, _flags, raw: string[]) => {
    // Each pipeline listens for all that may befall both of its ends.
    stream.setMaxListeners(STREAM_LISTENERS_MAX).on("error", () => undefined);
    take(stream, raw, { site, server }).catch(() => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
  });
}

interface Around {
  readonly site: Http2Site;
  readonly server: ServerSession;
}

async function take(
  stream: ServerHttp2Stream,
  raw: readonly string[],
  { site, server }: Around,
): Promise<void> {
  const { guests, connection, to } = site;
  const { guest } = connection;
  const { name } = to;
  const free = guests.admitRequest(guest, TLS_PORT, stream);
  if (free === undefined) return stream.close(constants.NGHTTP2_REFUSED_STREAM);
  stream.once("close", free);
  await guest.takeTurn();
  const asked = readRequest(raw, name);
  const decision =
    typeof asked === "string" ? { refused: asked, status: MISDIRECTED } : await site.decide(asked);
  if (stream.destroyed) return;
  if ("refused" in decision || typeof asked === "string")
    return refuse(stream, "refused" in decision ? decision : { refused: "", status: FORBIDDEN });
  connection.destinations.add(decision.to);
  stream.once("close", () => void connection.destinations.delete(decision.to));
  const session = await server.open(decision.to).catch(() => undefined);
  if (session === undefined)
    return refuse(stream, { refused: "the server cannot be reached", status: BAD_GATEWAY });
  if (stream.destroyed) return;
  const { method } = asked;
  pass(
    stream,
    session.request(headersOf(decision, { method, name }), { endStream: stream.endAfterHeaders }),
    decision,
  );
}

/** The request, or why it is none for this connection. */
function readRequest(raw: readonly string[], name: string): Asked | string {
  const pairs = raw.flatMap((key, at) => (at % 2 === 0 ? [[key, raw[at + 1] ?? ""] as const] : []));
  const all = (wanted: string): string[] => pairs.flatMap(([key, value]) => (key === wanted ? [value] : []));
  const names = [...all(":authority"), ...all("host")];
  if (names.length === 0) return "a request needs an :authority";
  // Servers that answer for several names are asked for them on one connection.
  if (names.some((one) => nameInHost(one, TLS_PORT) !== name)) return `this connection is for ${name} alone`;
  const [method = ""] = all(":method");
  const [path = ""] = all(":path");
  if (method === "CONNECT" || !(path.startsWith("/") || path === "*"))
    return "its method or its path is none of a server";
  const others = pairs.filter(([key]) => !key.startsWith(":") && key !== "host").flat();
  const fields = [...forwardedFields(others), ...(all("te").includes("trailers") ? ["te", "trailers"] : [])];
  return { name, method, path, fields };
}

function headersOf(
  { path, fields }: Passed,
  { method, name }: { readonly method: string; readonly name: string },
): OutgoingHttpHeaders {
  const target = { ":method": method, ":scheme": "https", ":authority": name, ":path": path };
  // No table of a compression keeps them.
  const headers = grouped(fields);
  return { ...target, ...headers, [sensitiveHeaders]: Object.keys(headers) };
}

function grouped(fields: readonly string[]): OutgoingHttpHeaders {
  const values = new Map<string, string[]>();
  for (let at = 0; at < fields.length; at += 2) {
    const name = (fields[at] ?? "").toLowerCase();
    values.set(name, [...(values.get(name) ?? []), fields[at + 1] ?? ""]);
  }
  return Object.fromEntries([...values].map(([name, all]) => [name, all.length === 1 ? all[0] : all]));
}

function pass(stream: ServerHttp2Stream, onward: ClientHttp2Stream, decision: Passed): void {
  const hidden = new HiddenTexts(decision.hidden);
  let trailers: readonly string[] = [];
  stream.once("close", () => onward.close(stream.rstCode || constants.NGHTTP2_CANCEL));
  onward.on("error", () => fail(stream));
  onward.once("close", () => {
    if (onward.rstCode !== constants.NGHTTP2_NO_ERROR && !stream.closed) stream.close(onward.rstCode);
  });
  onward.on("trailers", (_headers, _flags, raw: string[]) => (trailers = raw));
  onward.once("response", (headers, _flags, raw: string[]) => {
    if (stream.destroyed) return;
    if (!hidden.isEmpty && isEncoded(headers["content-encoding"])) {
      onward.close(constants.NGHTTP2_CANCEL);
      return refuse(stream, {
        refused: "the server's answer is encoded, and could show a secret",
        status: BAD_GATEWAY,
      });
    }
    try {
      const fields = hidden.hide(raw);
      const status = Number(fields[fields.indexOf(":status") + 1]);
      const others = fields.filter((_, at) => fields[at - (at % 2)] !== ":status");
      stream.respond({ ":status": status, ...grouped(forwardedFields(others)) }, { waitForTrailers: true });
    } catch {
      return stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    }
    stream.on("wantTrailers", () => sendTrailers(stream, hidden.hide(trailers)));
    if (hidden.isEmpty) pipeline(onward, stream, () => undefined);
    else pipeline(onward, hidden.filter(), stream, () => undefined);
  });
  pipeline(stream, onward, () => undefined);
}

/** Node refuses some that a server may send. */
function sendTrailers(stream: ServerHttp2Stream, trailers: readonly string[]): void {
  try {
    stream.sendTrailers(grouped(trailers));
  } catch {
    stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  }
}

function fail(stream: ServerHttp2Stream): void {
  if (stream.headersSent) stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  else refuse(stream, { refused: "the server cannot be reached", status: BAD_GATEWAY });
}

function refuse(
  stream: ServerHttp2Stream,
  { refused, status }: { readonly refused: string; readonly status: number },
): void {
  if (stream.destroyed || stream.closed) return;
  stream.respond({ ":status": status, "content-type": "text/plain" });
  stream.end(`${refused}\n`);
}

/** Session with the server; another one once it has ended that one. */
class ServerSession {
  readonly #site: Http2Site;
  #session: Promise<ClientHttp2Session>;
  #isOver = false;

  constructor(site: Http2Site) {
    this.#site = site;
    this.#session = Promise.resolve(this.#begin(site.first));
  }

  async open({ address }: Destination): Promise<ClientHttp2Session> {
    const before = this.#session;
    const session = await before.catch(() => undefined);
    if (session !== undefined && !session.closed && !session.destroyed) return session;
    // The first one of requests at once connects.
    if (this.#session === before)
      this.#session = this.#site.again(address).then((socket) => this.#begin(socket));
    return this.#session;
  }

  destroy(): void {
    this.#isOver = true;
    void this.#session.then((session) => session.destroy()).catch(() => undefined);
  }

  #begin(socket: TLSSocket): ClientHttp2Session {
    if (this.#isOver) {
      socket.destroy();
      throw new Error("the guest has gone");
    }
    if (socket.alpnProtocol !== "h2") {
      socket.destroy();
      throw new Error("the server does not speak HTTP/2 any more");
    }
    const session = connect(`https://${this.#site.to.name}`, {
      createConnection: () => socket,
      settings: { enablePush: false },
    });
    session.on("error", () => session.destroy());
    session.setTimeout(IDLE_DEADLINE_MS, () => session.destroy());
    return session;
  }
}
