// Clients that want another tenant's requests, or all of the proxy: what they send reaches no app but as one
// request of their own, for the name that it was routed by.

import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeEach, expect, test } from "vitest";
import type { EdgeInstance } from "@skerry/contract/host-api/edge";
import { until } from "./support/edge-instances.ts";
import { listen, serve } from "./support/edge-rig.ts";

interface Got {
  readonly app: string;
  readonly line: string;
  readonly host: string | undefined;
  readonly body: string;
}

/** Requests that apps have got, in their order. */
const got: Got[] = [];
/** An app as most are: it takes what Node's parser takes, and believes the body's length that it is told. */
async function app(name: string): Promise<EdgeInstance> {
  const server = createServer((request, answer) => {
    void text(request).then((body) => {
      got.push({ app: name, line: `${request.method} ${request.url}`, host: request.headers.host, body });
      answer.end(name);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  servers.push(server);
  return {
    vm: `vm_${name}`,
    execution_id: "exe_1",
    port: (server.address() as AddressInfo).port,
    state: "serving",
  };
}
const servers: ReturnType<typeof createServer>[] = [];
afterAll(() => {
  for (const server of servers) server.close().closeAllConnections();
});

beforeEach(async () => {
  got.length = 0;
  await serve(
    { shop: [await app("shop")], victim: [await app("victim")] },
    { "shop.localhost/": "shop", "victim.localhost/": "victim" },
  );
});

function dial(): Socket {
  const [host, port] = listen.split(":");
  const socket = connect(Number(port), host);
  socket.on("error", () => undefined);
  return socket;
}

/** Sends bytes as they are. Resolves with all that came back within a quarter of a second. */
async function send(bytes: string | Buffer): Promise<string> {
  const socket = dial();
  let answer = "";
  socket.setEncoding("latin1").on("data", (part: string) => (answer += part));
  socket.write(bytes);
  // An error is an end as well.
  await Promise.race([new Promise((resolve) => socket.once("close", resolve)), sleep(250)]);
  socket.destroy();
  return answer;
}

/** A request of another client, which may not get what the attacker has left. */
async function bystander(): Promise<string> {
  return send("GET /mine HTTP/1.1\r\nHost: victim.localhost\r\nConnection: close\r\n\r\n");
}

const SMUGGLED = "GET /smuggled HTTP/1.1\r\nHost: victim.localhost\r\n\r\n";
const lengths = [
  "Content-Length: 4\r\nTransfer-Encoding: chunked",
  "Transfer-Encoding: chunked\r\nContent-Length: 4",
  "Content-Length: 4\r\nContent-Length: 60",
  "Content-Length: 4, 60",
  "Content-Length: +4",
  "Content-Length: 0x4",
  "Content-Length: 4 4",
  "Content-Length : 4",
  "Content-Length:\t4\r\n Transfer-Encoding: chunked",
  "Transfer-Encoding: xchunked",
  "Transfer-Encoding: chunked, identity",
  "Transfer-Encoding: identity, chunked",
  "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
  "Transfer-Encoding : chunked",
  "Transfer-Encoding:\x0bchunked",
  " Transfer-Encoding: chunked",
  "X: y\nTransfer-Encoding: chunked",
  "Transfer-Encoding: chunked\r\nConnection: Transfer-Encoding",
];

test.each(lengths)("two hops agree on where a request ends: %j", async (head) => {
  for (const body of [`0\r\n\r\n${SMUGGLED}`, `4\r\nabcd\r\n0\r\n\r\n${SMUGGLED}`])
    await send(`POST /own HTTP/1.1\r\nHost: shop.localhost\r\n${head}\r\n\r\n${body}`);
  expect(await bystander()).toMatch(/^HTTP\/1\.1 200 [^]*victim$/);
  // Pipelined it is a request of its own to the proxy, which routes it by its name: no app sees it as a part
  // of another one.
  for (const { app: name, host, line, body } of got) {
    expect(host).toBe(`${name}.localhost`);
    expect(body).not.toContain("/smuggled");
    expect(["POST /own", "GET /smuggled", "GET /mine"]).toContain(line);
  }
  expect(got.filter(({ line }) => line === "GET /mine")).toHaveLength(1);
});

test.each([
  "GET http://victim.localhost/x HTTP/1.1\r\nHost: shop.localhost\r\n\r\n",
  "GET /x HTTP/1.1\r\nHost: shop.localhost\r\nHost: victim.localhost\r\n\r\n",
  "GET /x HTTP/1.1\r\nHost: shop.localhost, victim.localhost\r\n\r\n",
  "GET /x HTTP/1.1\r\nHost: shop.localhost@victim.localhost\r\n\r\n",
  "GET /x HTTP/1.1\r\nHost: victim.localhost:80@shop.localhost\r\n\r\n",
  "GET /x HTTP/1.1\r\nHost: shop.localhost/../victim.localhost\r\n\r\n",
  "GET /x HTTP/1.1\r\nHost : victim.localhost\r\nHost: shop.localhost\r\n\r\n",
  "GET /x HTTP/1.0\r\n\r\n",
  "GET //victim.localhost/x HTTP/1.1\r\nHost: shop.localhost\r\n\r\n",
  "GET /../victim.localhost/ HTTP/1.1\r\nHost: shop.localhost\r\n\r\n",
  "GET /%2e%2e/victim HTTP/1.1\r\nHost: shop.localhost\r\n\r\n",
  "GET victim.localhost/ HTTP/1.1\r\nHost: shop.localhost\r\n\r\n",
  "CONNECT victim.localhost:80 HTTP/1.1\r\nHost: shop.localhost\r\n\r\n",
])("an app gets requests for its own name alone: %j", async (request) => {
  await send(request);
  for (const { app: name, host } of got) expect(host).toBe(`${name}.localhost`);
  expect(await bystander()).toMatch(/^HTTP\/1\.1 200 /);
});

/** A frame of HTTP/2: a header block of literals that nothing has checked. */
function frame(type: number, flags: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  if (type !== 4) head.writeUInt32BE(1, 5);
  return Buffer.concat([head, payload]);
}
const literal = ([name, value]: readonly [string, string]): Buffer =>
  Buffer.concat([
    Buffer.from([0, name.length]),
    Buffer.from(name, "latin1"),
    Buffer.from([value.length]),
    Buffer.from(value, "latin1"),
  ]);

function http2(more: readonly (readonly [string, string])[], { body = "", path = "/h2" } = {}): Buffer {
  const fields = [
    [":method", body === "" ? "GET" : "POST"],
    [":scheme", "http"],
    [":path", path],
    [":authority", "shop.localhost"],
    ...more,
  ] as const;
  const [END_STREAM, END_HEADERS] = [1, 4];
  return Buffer.concat([
    Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    frame(4, 0, Buffer.alloc(0)),
    frame(1, END_HEADERS | (body === "" ? END_STREAM : 0), Buffer.concat(fields.map(literal))),
    ...(body === "" ? [] : [frame(0, END_STREAM, Buffer.from(body))]),
  ]);
}

test.each([
  ["a header with a line in it", http2([["x", `y\r\nHost: victim.localhost`]])],
  ["a header with a request in it", http2([["x", `y\r\n\r\n${SMUGGLED}`]])],
  ["a name with a line in it", http2([["x: y\r\nhost", "victim.localhost"]])],
  ["a path with a request in it", http2([], { path: `/ HTTP/1.1\r\nHost: victim.localhost\r\n\r\n` })],
  ["a transfer coding", http2([["transfer-encoding", "chunked"]], { body: `0\r\n\r\n${SMUGGLED}` })],
  ["a length that is too short", http2([["content-length", "1"]], { body: `a${SMUGGLED}` })],
  ["a length that is too long", http2([["content-length", "500"]], { body: "a" })],
  [
    "two lengths",
    http2(
      [
        ["content-length", "0"],
        ["content-length", "60"],
      ],
      { body: SMUGGLED },
    ),
  ],
  ["another host", http2([["host", "victim.localhost"]])],
  ["another authority", http2([[":authority", "victim.localhost"]])],
  [
    "a header of the connection",
    http2([
      ["connection", "upgrade"],
      ["upgrade", "h2c"],
    ]),
  ],
])("what HTTP/2 carries becomes one request of HTTP/1.1, or none: %s", async (_what, bytes) => {
  await send(bytes);
  expect(await bystander()).toMatch(/^HTTP\/1\.1 200 [^]*victim$/);
  expect(got.filter(({ app: name }) => name === "victim").map(({ line }) => line)).toEqual(["GET /mine"]);
  for (const { app: name, host, line } of got) {
    expect(host).toBe(`${name}.localhost`);
    expect(line).not.toContain("smuggled");
  }
});

test("without anything wrong in it such a request of HTTP/2 arrives", async () => {
  await send(http2([["content-length", "2"]], { body: "ab" }));
  expect(got).toMatchObject([{ app: "shop", line: "POST /h2", body: "ab" }]);
});

test("heads that are too long, or have too much in them, are refused and reach no app", async () => {
  const head = "GET / HTTP/1.1\r\nHost: shop.localhost\r\n";
  for (const more of [
    `X: ${"a".repeat(40_000)}\r\n`,
    "X: a\r\n".repeat(5_000),
    `Cookie: ${"a=b; ".repeat(9_000)}\r\n`,
  ])
    expect(await send(`${head}${more}\r\n`)).toMatch(/^HTTP\/1\.[01] 4\d\d /);
  expect(await send(`GET /${"a".repeat(40_000)} HTTP/1.1\r\nHost: shop.localhost\r\n\r\n`)).toMatch(
    /^HTTP\/1\.[01] 4\d\d /,
  );
  expect(got).toEqual([]);
});

test("clients that never finish their heads are let go, and keep no other out meanwhile", async () => {
  const slow = Array.from({ length: 300 }, dial);
  const closed = Promise.all(slow.map((socket) => once(socket.resume(), "close")));
  for (const socket of slow) socket.write("GET / HTTP/1.1\r\nHost: shop.localhost\r\nX");
  const dripping = setInterval(() => {
    for (const socket of slow) socket.write("x");
  }, 1_000);
  expect(await bystander()).toMatch(/^HTTP\/1\.1 200 /);
  await closed;
  clearInterval(dripping);
  expect(got.map(({ app: name }) => name)).toEqual(["victim"]);
});

test("one address has so many connections and no more, and all of them again when they have ended", async () => {
  const held = Array.from({ length: 450 }, dial);
  // Idle ones may stay for a minute, longer than heads may take.
  for (const socket of held) socket.resume().write("GET / HTTP/1.1\r\nHost: victim.localhost\r\n\r\n");
  const open = () => held.filter(({ closed }) => !closed).length;
  await until("those beyond are let go", async () => open() <= 400);
  expect(open()).toBeGreaterThan(300);
  expect(await bystander()).toBe("");
  for (const socket of held) socket.destroy();
  await until("it is let in", async () => (await bystander()).startsWith("HTTP/1.1 200 "));
});
