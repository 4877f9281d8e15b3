// Requests that try to be understood in two ways, to be larger than they look, or to never end.

import { once } from "node:events";
import type { Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { beforeAll, expect, test } from "vitest";
import { connectionBounds, fileLimit } from "@skerry/contract/connections/file-limit";
import type { ErrorBody } from "@skerry/contract/errors";
import { buildServer, type Server } from "../src/app/server.ts";
import { connectionLimits } from "../src/http/http-server.ts";
import { answersOf, open, send, type RawAnswer } from "./support/raw-requests.ts";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();
let id: string;
beforeAll(async () => {
  id = (await world.createSandbox()).id;
});

const DUMMY = "sbx_00000000000000000000000000";

/** A request as text; it ends its connection. */
function text(line: string, headers: readonly string[] = [], body = ""): string {
  const length = body === "" ? [] : [`content-length: ${Buffer.byteLength(body)}`];
  const all = ["host: skerry", "connection: close", `authorization: Bearer ${world.token}`, ...headers];
  return `${line} HTTP/1.1\r\n${[...all, ...length].join("\r\n")}\r\n\r\n${body}`;
}

function codeOf(answer: RawAnswer | undefined): unknown {
  return answer === undefined || answer.body === "" ? undefined : (JSON.parse(answer.body) as ErrorBody).code;
}

async function refused(request: string): Promise<readonly [number | undefined, unknown]> {
  const [answer] = await send(world.server, request);
  return [answer?.status, codeOf(answer)];
}

const json = (body: string) => text("POST /v1/sandboxes", ["content-type: application/json"], body);
const deep = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
const nested = (levels: number) => '{"a":'.repeat(levels) + "1" + "}".repeat(levels);

const bodies: readonly (readonly [what: string, body: () => string, code: string])[] = [
  ["10,000 levels of lists", () => deep(10_000), "bad_request"],
  [
    "10,000 levels of objects in a label",
    () => `{"template":"base","metadata":${nested(10_000)}}`,
    "bad_request",
  ],
  ["10,000 levels in env", () => `{"template":"base","env":{"A":${deep(10_000)}}}`, "invalid_env"],
  ["100,000 levels that never end", () => "[".repeat(100_000), "bad_request"],
  ["__proto__", () => '{"template":"base","__proto__":{"env":{}}}', "bad_request"],
  ["__proto__ in a label", () => '{"template":"base","metadata":{"__proto__":"x"}}', "bad_request"],
  ["an escaped __proto__", () => '{"template":"base","\\u005f_proto__":{}}', "bad_request"],
  ["constructor.prototype", () => '{"template":"base","constructor":{"prototype":{}}}', "bad_request"],
  ["a field twice, the second one wrong", () => '{"template":"base","template":7}', "bad_request"],
  ["half a character as a name", () => '{"template":"base","name":"\\ud800"}', "bad_request"],
  [
    "a number beyond all numbers",
    () => '{"template":"base","egress":{"allow_ports":[1e999]}}',
    "bad_request",
  ],
  ["a list with a hole", () => '{"template":"base","egress":{"allow_ports":[,]}}', "bad_request"],
  ["NaN", () => '{"template":"base","egress":{"allow_ports":[NaN]}}', "bad_request"],
  ["a byte order mark and nothing else", () => "\ufeff", "bad_request"],
];

test.each(bodies)("a body with %s is refused as what it is", async (...[, body, code]) => {
  expect(await refused(json(body()))).toEqual([400, code]);
  expect(({} as Record<string, unknown>)["env"]).toBeUndefined();
});

test("a body in another type, or compressed, is refused unread", async () => {
  const types = [
    "text/plain",
    "application/xml",
    "multipart/form-data; boundary=a",
    "application/jsonx",
    "/",
    "a",
  ];
  for (const type of types) {
    const request = text("POST /v1/sandboxes", [`content-type: ${type}`], '{"template":"base"}');
    expect(await refused(request), type).toEqual([415, "unsupported_media_type"]);
  }
  const bomb = gzipSync(Buffer.alloc(200 * 1024 * 1024));
  expect(bomb.length).toBeLessThan(300_000);
  const before = process.memoryUsage().rss;
  for (const path of ["POST /v1/sandboxes", `PUT /v1/sandboxes/${id}/files/bomb`]) {
    const head = text(path, [
      "content-type: application/json",
      "content-encoding: gzip",
      `content-length: ${bomb.length}`,
    ]);
    const [answer] = await send(world.server, head, bomb);
    expect([answer?.status, codeOf(answer)], path).toEqual([415, "unsupported_media_type"]);
  }
  expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 * 1024);
});

const once2 = [
  "authorization: Bearer x",
  "x-api-key: b",
  "x-org-id: b",
  "content-type: text/plain",
  "idempotency-key: b",
];

test.each(once2)(
  "a second %s is refused, because a proxy may have looked at the other one",
  async (field) => {
    const first = field.startsWith("authorization") ? [] : [field.replace(/: .*/, ": a")];
    expect(await refused(text("GET /v1/sizes", [...first, field]))).toEqual([400, "bad_request"]);
  },
);

const paths: readonly (readonly [path: string, status: number])[] = [
  ["/v1/sandboxes/%2e%2e/sandboxes", 404],
  ["/v1/sandboxes/../sandboxes", 404],
  ["/v1/../v1/sizes", 404],
  ["/v1//sizes", 404],
  ["/v1/sizes/", 404],
  ["/V1/SIZES", 404],
  ["/v1%2fsizes", 404],
  ["/v1/sizes%00", 404],
  ["/v1/sizes;a=b", 404],
  ["/v1/sizes%20", 404],
  ["/v1/sandboxes/%00", 404],
  ["/v1/sandboxes/%0d%0aset-cookie:%20a=b", 404],
  ["/v1/sandboxes/%ff", 400],
  ["/v1/sandboxes/%", 400],
  ["/v1/sandboxes/%u0041", 400],
  [`/v1/sandboxes/${DUMMY}%2fexecute`, 404],
  [`/v1/sandboxes/${"a".repeat(15_000)}`, 404],
  ["/v1/templates/__proto__", 404],
  ["/v1/templates/constructor", 404],
  ["/v1/sandboxes?limit=1&limit=2", 400],
  ["/v1/sandboxes?limit[]=1", 400],
  ["/v1/sandboxes?__proto__=1", 400],
  ["/v1/sandboxes?metadata.__proto__=1", 200],
  ["/v1/sandboxes?metadata.a=%00", 400],
  ["/v1/sandboxes?cursor=%ff", 400],
  ["/v1/sizes?%", 200],
  ["http://elsewhere/v1/sizes", 200],
  ["http://elsewhere", 200],
  ["HTTPS://elsewhere?a", 200],
  ["http://elsewhere/none", 404],
  ["//elsewhere/v1/sizes", 404],
  ["*", 200],
];

test.each(paths)("GET %s is one thing to everybody and answers %d", async (path, status) => {
  const [answer, ...more] = await send(world.server, text(`GET ${path}`));
  expect([answer?.status, more]).toEqual([status, []]);
  expect(answer?.head.toLowerCase()).not.toContain("set-cookie");
  expect(answer?.body).not.toMatch(/node_modules|\/src\/|    at /);
});

test.each(["%2e%2e/etc/passwd", "../etc/passwd", "a/%2e%2e/%2e%2e/etc", "a%2f..%2fb", "a%00b", "%ff"])(
  "the file path %j leads nowhere else",
  async (path) => {
    const written = world.host.files.size;
    const [answer] = await send(world.server, text(`PUT /v1/sandboxes/${id}/files/${path}`, [], "x"));
    expect(answer?.status).toBeGreaterThanOrEqual(400);
    expect(answer?.status).toBeLessThan(500);
    expect(world.host.files.size).toBe(written);
  },
);

test("a file is the same file where the request names the whole URL, as it does to a proxy", async () => {
  await send(world.server, text(`PUT http://skerry/v1/sandboxes/${id}/files/tmp/whole?mode=0600`, [], "x"));
  expect(world.host.files.get("/tmp/whole")).toMatchObject({ size: 1, mode: 0o600 });
});

/** What follows is a second request to whoever counts differently from us. */
const HIDDEN = "GET /v1/hidden HTTP/1.1\r\nhost: skerry\r\n\r\n";
const smuggled: readonly (readonly [what: string, request: string])[] = [
  [
    "both lengths",
    `POST /v1/sandboxes HTTP/1.1\r\nhost: s\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${HIDDEN}`,
  ],
  [
    "two content lengths",
    `POST /v1/sandboxes HTTP/1.1\r\nhost: s\r\ncontent-length: 0\r\ncontent-length: 45\r\n\r\n${HIDDEN}`,
  ],
  ["a list of lengths", `POST /v1/sandboxes HTTP/1.1\r\nhost: s\r\ncontent-length: 0, 45\r\n\r\n${HIDDEN}`],
  ["a length with a sign", `POST /v1/sandboxes HTTP/1.1\r\nhost: s\r\ncontent-length: +4\r\n\r\n${HIDDEN}`],
  [
    "a length beyond 64 bits",
    `POST /v1/sandboxes HTTP/1.1\r\nhost: s\r\ncontent-length: 99999999999999999999\r\n\r\n${HIDDEN}`,
  ],
  [
    "an unknown transfer encoding",
    `POST /v1/sandboxes HTTP/1.1\r\nhost: s\r\ntransfer-encoding: xchunked\r\n\r\n0\r\n\r\n${HIDDEN}`,
  ],
  [
    "chunked not last",
    `POST /v1/sandboxes HTTP/1.1\r\nhost: s\r\ntransfer-encoding: chunked, gzip\r\n\r\n0\r\n\r\n${HIDDEN}`,
  ],
  [
    "a space before the colon",
    `POST /v1/sandboxes HTTP/1.1\r\nhost: s\r\ntransfer-encoding : chunked\r\n\r\n0\r\n\r\n${HIDDEN}`,
  ],
  [
    "a folded field",
    `POST /v1/sandboxes HTTP/1.1\r\nhost: s\r\ntransfer-encoding:\r\n chunked\r\n\r\n0\r\n\r\n${HIDDEN}`,
  ],
  [
    "a bad chunk size",
    `POST /v1/sandboxes HTTP/1.1\r\nhost: s\r\ntransfer-encoding: chunked\r\n\r\n0x0\r\n\r\n${HIDDEN}`,
  ],
  [
    "a bare line feed after a chunk",
    `POST /v1/sandboxes HTTP/1.1\r\nhost: s\r\ntransfer-encoding: chunked\r\n\r\n1\nx\n0\n\n${HIDDEN}`,
  ],
  ["no host", `GET /v1/sizes HTTP/1.1\r\n\r\n${HIDDEN}`],
  ["two hosts", `GET /v1/sizes HTTP/1.1\r\nhost: a\r\nhost: b\r\nconnection: close\r\n\r\n`],
  ["NUL in a field", `GET /v1/sizes HTTP/1.1\r\nhost: s\r\nx-request-id: a\0b\r\n\r\n${HIDDEN}`],
  [
    "a bare carriage return in a field",
    `GET /v1/sizes HTTP/1.1\r\nhost: s\r\nx-request-id: a\rx: b\r\n\r\n${HIDDEN}`,
  ],
  ["a line feed in the path", `GET /v1/si\nzes HTTP/1.1\r\nhost: s\r\n\r\n${HIDDEN}`],
  ["another version", `GET /v1/sizes HTTP/3.7\r\nhost: s\r\n\r\n${HIDDEN}`],
  ["a TLS hello", `\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03${HIDDEN}`],
];

test.each(smuggled)(
  "a request with %s is refused, and nothing after it is taken for a request",
  async (...[, request]) => {
    const logged = world.log.length;
    const answers = await send(world.server, Buffer.from(request, "latin1"));
    expect(answers.map((answer) => answer.status)).toEqual([400]);
    expect(codeOf(answers[0])).toBe("bad_request");
    expect(JSON.stringify(world.log.slice(logged))).not.toContain("hidden");
  },
);

test("a head that is too large or has too many fields is refused before anything is done for it", async () => {
  const many = Array.from({ length: 120 }, (_, n) => `x-${n}: a`);
  const thousands = Array.from({ length: 4_000 }, () => "a:");
  for (const fields of [many, thousands, [`x: ${"a".repeat(17_000)}`], [`cookie: ${"a=b;".repeat(5_000)}`]]) {
    expect(await refused(text("GET /v1/sizes", fields))).toEqual([431, "headers_too_large"]);
  }
  expect(await refused(text(`GET /v1/sandboxes?cursor=${"a".repeat(20_000)}`))).toEqual([
    431,
    "headers_too_large",
  ]);
});

test("an answer cannot be split by what a request id or a path holds", async () => {
  const [answer] = await send(world.server, text("GET /v1/sizes", ["x-request-id: a b; c\x7f"]));
  expect(/^x-request-id: (\S+)\r?$/im.exec(answer?.head ?? "")?.[1]).toMatch(/^req_[0-9a-z]{26}$/);
});

test("requests in one packet are answered in their order", async () => {
  const one = `GET /v1/health HTTP/1.1\r\nhost: s\r\n\r\n`;
  const answers = await send(world.server, one + one + text("GET /v1/sizes"));
  expect(answers.map(({ status, body }) => [status, body.slice(0, 9)])).toEqual([
    [200, '{"status"'],
    [200, '{"status"'],
    [200, '{"items":'],
  ]);
});

test("a body of JSON that comes too slowly is told so, however it trickles", async () => {
  const server = await buildServer(world.context, { limits: { ...connectionLimits, bodyMs: 300 } });
  await server.app.listen({ host: "127.0.0.1", port: 0 });
  const socket = open(server);
  const got: Buffer[] = [];
  socket.on("data", (chunk) => got.push(chunk));
  const closed = once(socket, "close");
  socket.write(
    `POST /v1/sandboxes HTTP/1.1\r\nhost: s\r\nauthorization: Bearer ${world.token}\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{`,
  );
  const drip = setInterval(() => socket.write(" "), 50);
  await closed;
  clearInterval(drip);
  const [answer] = answersOf(Buffer.concat(got).toString("latin1"));
  expect([answer?.status, codeOf(answer)]).toEqual([408, "request_timeout"]);
  await server.stop(0);
});

test("a reader that stops reading answers holds no more memory than its own", async () => {
  const before = process.memoryUsage().rss;
  const socket = open(world.server);
  socket.pause();
  await once(socket, "connect");
  const request = `GET /v1/openapi.json HTTP/1.1\r\nhost: s\r\nauthorization: Bearer ${world.token}\r\n\r\n`;
  // More answers than socket buffers hold; the server must stop taking requests, not pile the answers up.
  for (let sent = 0; sent < 3_000; sent += 1) socket.write(request);
  expect((await world.call("GET", "/v1/health")).status).toBe(200);
  expect(process.memoryUsage().rss - before).toBeLessThan(150 * 1024 * 1024);
  socket.destroy();
});

test("5,000 idle connections cost little, and a new request is answered beside them", async () => {
  // All come from one address and send nothing for long, which is usually not let pass.
  const bounds = { ...connectionBounds(fileLimit()), perAddress: 10_000 };
  const limits = { ...connectionLimits, firstByteMs: 600_000 };
  const server: Server = await buildServer(world.context, { bounds, limits });
  await server.app.listen({ host: "127.0.0.1", port: 0 });
  const sockets: Socket[] = [];
  const before = process.memoryUsage().rss;
  try {
    while (sockets.length < 5_000) {
      const some = Array.from({ length: 250 }, () => open(server));
      sockets.push(...some);
      await Promise.all(some.map((socket) => once(socket, "connect")));
    }
    // Half of them have used theirs once and keep it.
    for (const socket of sockets.slice(0, 2_500)) socket.write("GET /v1/health HTTP/1.1\r\nhost: s\r\n\r\n");
    await eventually(
      () => sockets.slice(0, 2_500).every((socket) => socket.bytesRead > 0),
      "all are answered",
    );
    const [answer] = await send(server, text("GET /v1/sizes"));
    expect(answer?.status).toBe(200);
    // Both ends of every connection are in this process.
    expect((process.memoryUsage().rss - before) / sockets.length).toBeLessThan(100 * 1024);
  } finally {
    for (const socket of sockets) socket.destroy();
    await server.stop(0);
  }
});
