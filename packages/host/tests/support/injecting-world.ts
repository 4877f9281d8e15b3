// A guest's connections to a door that gives its requests secrets on their way: with servers and a name
// server of the test, and without the rules that lead to it.

import { createSocket } from "node:dgram";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import {
  connect as connectHttp2,
  createSecureServer,
  type ClientHttp2Session,
  type OutgoingHttpHeaders,
} from "node:http2";
import { request, type RequestOptions } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { text } from "node:stream/consumers";
import { connect as connectTls, createSecureContext, type TLSSocket } from "node:tls";
import { afterEach } from "vitest";
import { authorityCertificate, leafCertificate } from "@skerry/contract/certificates/x509";
import type { InjectRule } from "@skerry/contract/vms/inject";
import { newKeyPair, pemOf } from "../../../control/src/joining/x509.ts";
import { answerTo, readQuestion } from "../../src/names/dns-message.ts";
import { Guests } from "../../src/names/guests.ts";
import { InjectingDoor } from "../../src/names/injecting-door.ts";
import { Resolver } from "../../src/names/resolver.ts";
import { tlsDoor } from "../../src/names/tls-door.ts";
import { authorityOf } from "../../src/names/vm-authority.ts";
import type { NamePolicy } from "../../src/network/name-proxy-protocol.ts";

export const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

export const GUEST = "127.0.0.1";
export const VALUE = "correct-horse-battery-staple";
export const HOST = "api.example";
export const rule: InjectRule = {
  host: HOST,
  secret: "API_KEY",
  header: "Authorization",
  format: "Bearer {}",
};
export const injection = { vm: "sbx_a", seed: "5e".repeat(32), values: { API_KEY: VALUE } };

/** Addresses of the tests with this alone. */
export const site = `127.78.${process.pid % 256}.1`;

export const policy: NamePolicy = {
  ...{ mode: "deny_all", allow_domains: ["*.example"], deny_domains: [], never: [], deny_cidrs: [] },
  ...{ private_networks: [], open_cidrs: [], mark: 1, inject: [rule], injection },
};

const until = new Date(Date.now() + 3_600_000);
const serverAuthority = newKeyPair();
/** Authority of the servers. */
export const trusted = authorityCertificate(serverAuthority, { name: "test sites", until });
/** Authority of the guest's VM. */
export const ca = authorityOf(injection);

/** Key and certificate of a site with this name. */
function certified(name: string) {
  const { privateKey, publicKey } = newKeyPair();
  const leaf = { issuer: "test sites", subject: name, name: { dns: name }, publicKey, until };
  return {
    key: pemOf(privateKey),
    cert: leafCertificate(serverAuthority, { ...leaf, purposes: ["server"] }),
  };
}

export interface Seen {
  readonly version: string;
  readonly method: string | undefined;
  readonly url: string | undefined;
  /** Names and values by turns. */
  readonly fields: readonly string[];
  readonly body: string;
}

export interface World {
  readonly guests: Guests;
  /** Requests that have reached the site. */
  readonly seen: Seen[];
  readonly port: number;
  readonly tell: (changes: Partial<NamePolicy>) => void;
  /** Ends the site's connections over HTTP/2. */
  readonly hangUp: () => void;
}

interface Site {
  /** Name in its certificate. */
  readonly name?: string;
  readonly answer?: (seen: Seen) => string | Record<string, string>;
  readonly trailers?: Readonly<Record<string, string>>;
}

/** Every name leads to one site. */
export async function open({
  name = HOST,
  answer = () => "hello",
  trailers = {},
}: Site = {}): Promise<World> {
  const seen: Seen[] = [];
  const server = createSecureServer({ ...certified(name), allowHTTP1: true }, (asked, response) => {
    void text(asked).then((body) => {
      const { method, url, rawHeaders: fields, httpVersion: version } = asked;
      const one = { version, method, url, fields, body };
      seen.push(one);
      const said = answer(one);
      for (const [key, value] of Object.entries(trailers)) response.addTrailers({ [key]: value });
      if (typeof said === "string") return response.end(said);
      response.writeHead(302, said);
      return response.end("moved");
    });
  });
  server.on("upgrade", (asked: IncomingMessage, socket: Socket) => {
    const { method, url, rawHeaders: fields, httpVersion: version } = asked;
    seen.push({ version, method, url, fields, body: "" });
    socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
    socket.pipe(socket);
  });
  const sessions = new Set<{ destroy: () => void }>();
  const sockets = new Set<Socket>();
  server.on("session", (session) => sessions.add(session));
  server.on("connection", (socket: Socket) => sockets.add(socket));
  server.listen(443, site);
  await once(server, "listening");
  const hangUp = (): void => {
    for (const session of sessions) session.destroy();
  };
  cleanups.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const names = createSocket("udp4");
  names.on("message", (query, { address, port }) => {
    const question = readQuestion(query);
    if (question !== undefined)
      names.send(answerTo(question, 0, { addresses: [site], ttlS: 60 }), port, address);
  });
  names.bind(0, GUEST);
  await once(names, "listening");
  cleanups.push(() => names.close());
  const { port } = names.address();
  const guests = new Guests(() => new Resolver(() => Promise.resolve([{ address: GUEST, port }])));
  const tell = (changes: Partial<NamePolicy>): void =>
    guests.set({ guest: GUEST, policy: { ...policy, ...changes }, isNew: false });
  tell({});
  const door = tlsDoor(guests, new InjectingDoor(guests, createSecureContext({ ca: trusted })));
  door.listen(0, GUEST);
  await once(door, "listening");
  cleanups.push(() => {
    guests.forget(GUEST);
    door.close();
  });
  return { guests, seen, tell, hangUp, port: (door.address() as AddressInfo).port };
}

interface Answer {
  readonly status: number | undefined;
  readonly fields: IncomingMessage["headers"];
  readonly body: string;
}

/** Over HTTP/1.1. */
export async function ask(
  { port }: World,
  { body, ...options }: RequestOptions & { body?: string; ALPNProtocols?: string[] } = {},
): Promise<Answer> {
  const asked = request({ host: GUEST, port, servername: HOST, ca, agent: false, ...options });
  asked.setHeader("Host", HOST);
  for (const [name, value] of Object.entries(options.headers ?? {})) asked.setHeader(name, value as string);
  asked.end(body);
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  return { status: answer.statusCode, fields: answer.headers, body: await text(answer) };
}

/** A connection of the guest over TLS, after its handshake. */
export async function dial({ port }: World, protocols: string[] = []): Promise<TLSSocket> {
  const socket = connectTls({ host: GUEST, port, servername: HOST, ca, ALPNProtocols: protocols });
  cleanups.push(() => socket.destroy());
  await once(socket, "secureConnect");
  return socket;
}

export async function openHttp2(world: World): Promise<ClientHttp2Session> {
  const socket = await dial(world, ["h2"]);
  const session = connectHttp2(`https://${HOST}`, { createConnection: () => socket });
  session.on("error", () => undefined);
  cleanups.push(() => session.destroy());
  return session;
}

/** Over HTTP/2. */
export async function askHttp2(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders = {},
  body = "",
): Promise<{
  status: number;
  body: string;
  fields: Record<string, unknown>;
  trailers: Record<string, unknown>;
}> {
  const stream = session.request({ ":path": "/", ...(body !== "" && { ":method": "POST" }), ...headers });
  let trailers = {};
  stream.on("trailers", (found: object) => (trailers = found));
  if (body !== "") stream.end(body);
  const [fields] = (await once(stream, "response")) as [Record<string, unknown>];
  return { status: Number(fields[":status"]), fields, body: await text(stream), trailers };
}

/** Values of a field. */
export function valuesOf({ fields }: Seen, name: string): string[] {
  return fields.filter((_, at) => at % 2 === 1 && fields[at - 1]?.toLowerCase() === name.toLowerCase());
}
