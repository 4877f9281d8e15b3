// Clients as people use them, through a real HAProxy to servers as people write them: WebSockets, events,
// uploads, HTTP/2, and servers that answer early.

import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { createServer as createTcpServer, type AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { buffer, text } from "node:stream/consumers";
import { afterAll, expect, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import type { EdgeInstance } from "@skerry/contract/host-api/edge";
import { until } from "./support/edge-instances.ts";
import { edge, listen, serve } from "./support/edge-rig.ts";

const MIB = 1024 * 1024;
const [address, port] = listen.split(":");
const to = { host: address, port: Number(port), agent: false };
const headers = { host: "shop.test" };
const closing: (() => void)[] = [];
afterAll(() => {
  for (const close of closing) close();
});

const seatOf = (vm: string, server: Pick<Server, "address">): EdgeInstance => ({
  ...{ vm, execution_id: "exe_1", state: "serving" },
  port: (server.address() as AddressInfo).port,
});

async function app(
  vm: string,
  answer: (asked: IncomingMessage, response: ServerResponse) => void,
): Promise<EdgeInstance & { server: Server }> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => server.close().closeAllConnections());
  return { ...seatOf(vm, server), server };
}

const only = (vm: EdgeInstance) => serve({ web: [seat(vm)] }, { "shop.test/": "web" });
const seat = ({ vm, execution_id, port: at }: EdgeInstance, state: EdgeInstance["state"] = "serving") => ({
  ...{ vm, execution_id, state },
  port: at,
});

/** An instance that says over WebSockets what it is told, with its name before texts. */
async function talker(vm: string): Promise<EdgeInstance> {
  const one = await app(vm, (_asked, answer) => void answer.end(vm));
  const sockets = new WebSocketServer({ server: one.server });
  sockets.on("connection", (socket) => {
    socket.on("message", (data, isBinary) => {
      const bytes = data as Buffer;
      if (!isBinary && bytes.toString() === "bye") return socket.close(4_001, "so long");
      socket.send(isBinary ? bytes : `${vm} ${bytes.toString()}`);
    });
  });
  return one;
}

async function socketTo(host = "shop.test"): Promise<WebSocket> {
  const socket = new WebSocket(`ws://${listen}/live`, { headers: { host } });
  await once(socket, "open");
  return socket;
}
async function say(socket: WebSocket, what: string | Buffer): Promise<Buffer> {
  socket.send(what);
  const [data] = (await once(socket, "message")) as [Buffer];
  return data;
}

test("a WebSocket carries texts, a megabyte, pings, and the code of its end", async () => {
  await only(await talker("one"));
  const socket = await socketTo();
  expect((await say(socket, "hello")).toString()).toBe("one hello");
  const large = randomBytes(MIB);
  expect((await say(socket, large)).equals(large)).toBe(true);
  socket.ping("are you there");
  expect(String((await once(socket, "pong"))[0])).toBe("are you there");
  socket.send("bye");
  const [code, reason] = (await once(socket, "close")) as [number, Buffer];
  expect([code, reason.toString()]).toEqual([4_001, "so long"]);
  const refused = new WebSocket(`ws://${listen}/`, { headers: { host: "none.test" } });
  const [, answer] = (await once(refused, "unexpected-response")) as [unknown, IncomingMessage];
  refused.on("error", () => undefined).terminate();
  expect(answer.statusCode).toBe(404);
});

test("a change of routes, of other apps, and of the whole configuration drops no WebSocket", async () => {
  const [one, other] = [await talker("one"), await talker("other")];
  await only(one);
  const socket = await socketTo();
  const still = async (turn: string) => expect((await say(socket, turn)).toString()).toBe(`one ${turn}`);
  await serve({ web: [seat(one)], api: [seat(other)] }, { "shop.test/": "web", "shop.test/api/": "api" });
  await still("another route");
  await serve({ web: [seat(one), seat(other)] }, { "shop.test/": "web", "new.test/": "web" });
  await still("another instance");
  const many = Array.from({ length: 150 }, (_, n) => [`b${n}`, [seat(other)]] as const);
  await serve({ web: [seat(one)], ...Object.fromEntries(many) }, { "shop.test/": "web" });
  await still("another configuration");
  await serve({ web: [seat(one, "draining"), seat(other)] }, { "shop.test/": "web" });
  await still("another release");
  expect((await say(await socketTo(), "new")).toString()).toBe("other new");
  socket.terminate();
});

test("events reach a client one by one as they are sent, and a client that leaves is noticed", async () => {
  const left = Promise.withResolvers<void>();
  const streams: ServerResponse[] = [];
  const one = await app("one", (_asked, answer) => {
    answer.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
    answer.write("retry: 1000\n\n");
    answer.once("close", () => left.resolve());
    streams.push(answer);
  });
  await only(one);
  const call = request({ ...to, path: "/events", headers }).end();
  const [answer] = (await once(call, "response")) as [IncomingMessage];
  const next = async () => String((await once(answer, "data"))[0]);
  expect(await next()).toBe("retry: 1000\n\n");
  // Each one is sent only when the one before has come.
  for (const id of [1, 2, 3]) {
    const coming = next();
    streams[0]?.write(`id: ${id}\ndata: tick\n\n`);
    expect(await coming).toBe(`id: ${id}\ndata: tick\n\n`);
  }
  answer.on("error", () => undefined);
  call.destroy();
  await left.promise;
});

/** Answers the SHA-256 of what it has got. */
const hashing = () =>
  app("one", (asked, answer) => {
    void buffer(asked).then((bytes) => answer.end(createHash("sha256").update(bytes).digest("hex")));
  });
const upload = randomBytes(20 * MIB);
const digest = createHash("sha256").update(upload).digest("hex");

test.each([
  ["with its length", { "content-length": String(upload.length) }],
  ["in chunks", { "transfer-encoding": "chunked" }],
])("an upload of 20 MB arrives whole %s", async (_how, more) => {
  await only(await hashing());
  const call = request({ ...to, method: "POST", headers: { ...headers, ...more } }).end(upload);
  const [answer] = (await once(call, "response")) as [IncomingMessage];
  expect([answer.statusCode, await text(answer)]).toEqual([200, digest]);
});

function* piecesOf(body: Buffer): Generator<Buffer> {
  for (let at = 0; at < body.length; at += PIECE) yield body.subarray(at, at + PIECE);
}
const PIECE = 64 * 1024;

test("HTTP/2 without TLS and without an upgrade: a hundred requests and an upload on one connection", async () => {
  await only(await hashing());
  const session = connectHttp2(`http://${listen}`);
  const post = async (body: Buffer): Promise<string> => {
    const stream = session.request({ ":method": "POST", ":path": "/", ":authority": "shop.test" });
    // In pieces: a session of Node refuses others while it holds so much itself.
    Readable.from(piecesOf(body)).pipe(stream);
    return text(stream);
  };
  const small = Array.from({ length: 100 }, (_, n) => Buffer.from(`body ${n}`));
  const answers = await Promise.all([post(upload), ...small.map(post)]);
  expect(answers).toEqual([upload, ...small].map((body) => createHash("sha256").update(body).digest("hex")));
  session.close();
});

test("a request that is on its way while its instance is replaced gets the whole answer of that instance", async () => {
  const gate = Promise.withResolvers<void>();
  const old = await app("old", (_asked, answer) => {
    answer.write("begun ");
    void gate.promise.then(() => answer.end("by old"));
  });
  const next = await app("next", (_asked, answer) => void answer.end("next"));
  await only(old);
  const call = request({ ...to, path: "/", headers }).end();
  const [answer] = (await once(call, "response")) as [IncomingMessage];
  const whole = text(answer);
  await serve({ web: [seat(old, "draining"), seat(next)] }, { "shop.test/": "web" });
  const later = request({ ...to, path: "/", headers }).end();
  const [other] = (await once(later, "response")) as [IncomingMessage];
  expect(await text(other)).toBe("next");
  const draining = async () => (await edge.state()).instances.find(({ vm }) => vm === "old")?.sessions;
  expect(await draining()).toBe(1);
  gate.resolve();
  expect(await whole).toBe("begun by old");
  await until("it has nothing to do any more", async () => (await draining()) === 0);
});

/** An instance that treats each connection in a way of its own. */
async function rude(vm: string, answer: string | Buffer, when: "at once" | "when asked" = "when asked") {
  const server = createTcpServer((socket) => {
    socket.on("error", () => undefined);
    if (when === "at once") socket.end(answer);
    else socket.once("data", () => socket.end(answer));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => server.close());
  return seatOf(vm, server);
}

async function ask(host: string, body?: Buffer): Promise<readonly [number | undefined, string]> {
  const call = request({ ...to, method: body === undefined ? "GET" : "POST", headers: { host } });
  // What the server does not read cannot be written.
  call.on("error", () => undefined);
  call.end(body);
  const [answer] = (await once(call, "response")) as [IncomingMessage];
  return [answer.statusCode, await text(answer)];
}

test("a server that answers before it has read an upload, and reads the rest, gets its answer through", async () => {
  const early = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 9\r\nConnection: close\r\n\r\ntoo large";
  const polite = await app("polite", (_asked, answer) => void answer.writeHead(413).end("too large"));
  await serve(
    { polite: [seat(polite)], rude: [await rude("rude", early)] },
    { "polite.test/": "polite", "rude.test/": "rude" },
  );
  for (const host of ["polite.test", "rude.test"])
    for (let count = 0; count < 5; count += 1) expect(await ask(host, upload)).toEqual([413, "too large"]);
});

test("a server that answers and closes in the middle of an upload breaks that request at worst, and answers the next", async () => {
  const one = await app("one", (asked, answer) => {
    if (asked.method === "GET") answer.end("well");
    else answer.writeHead(413, { connection: "close" }).end("too large");
  });
  await only(one);
  for (let count = 0; count < 5; count += 1) {
    // HAProxy 2.6 reads no answer of a server that refuses what it is sent.
    const answer = await ask("shop.test", upload).catch((error: Error) => error.message);
    expect(["socket hang up", [413, "too large"]]).toContainEqual(answer);
    expect(await ask("shop.test")).toEqual([200, "well"]);
  }
});

test.each([
  ["garbage", "\0\u0001\u0002 not HTTP at all\r\n\r\n"],
  ["nothing", ""],
  ["SSH", "SSH-2.0-OpenSSH_9.2\r\n"],
  ["a head without end", `HTTP/1.1 200 OK\r\nX: ${"a".repeat(60_000)}`],
  ["two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"],
  ["a line in a header", "HTTP/1.1 200 OK\r\nX\0: y\r\n\r\n"],
])("a server that answers %s is told to be at fault, and its neighbour answers", async (_what, answer) => {
  const well = await app("well", (_asked, response) => void response.end("well"));
  await serve(
    { bad: [await rude("bad", answer)], well: [seat(well)] },
    { "bad.test/": "bad", "well.test/": "well" },
  );
  const [status, body] = await ask("bad.test");
  expect([status, JSON.parse(body)]).toMatchObject([502, { code: "app_failed" }]);
  expect(await ask("well.test")).toEqual([200, "well"]);
});

test("a server that closes each connection before it is asked, and one that answers less than it said, break off and hang nothing", async () => {
  const short = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf";
  await serve(
    { short: [await rude("short", short)], shy: [await rude("shy", "", "at once")] },
    { "short.test/": "short", "shy.test/": "shy" },
  );
  await expect(ask("short.test")).rejects.toThrow("aborted");
  const [status, body] = await ask("shy.test");
  expect([status, JSON.parse(body)]).toMatchObject([502, { code: "app_failed" }]);
});
