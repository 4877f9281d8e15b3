// How long a connection may take: for its head, for its body, and in silence.

import { once } from "node:events";
import { connect, type AddressInfo, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, expect, test } from "vitest";
import { buildServer, type Server } from "../src/app/server.ts";
import { connectionLimits, type ConnectionLimits } from "../src/http/http-server.ts";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();
let id: string;
beforeAll(async () => {
  id = (await world.createSandbox()).id;
});

async function listening(
  limits: Pick<ConnectionLimits, "headMs" | "idleMs" | "checkMs">,
): Promise<AsyncDisposable & { connect(): Socket }> {
  const server: Server = await buildServer(world.context, { limits: { ...connectionLimits, ...limits } });
  await server.app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = server.app.server.address() as AddressInfo;
  return {
    connect: () => connect(port, "127.0.0.1").on("error", () => undefined),
    [Symbol.asyncDispose]: () => server.stop(0),
  };
}

function uploadHead(path: string, bytes: number): string {
  return `PUT /v1/sandboxes/${id}/files/${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${world.token}\r\ncontent-length: ${bytes}\r\n\r\n`;
}

test("an upload may take as long as it likes while its bytes keep coming", async () => {
  // Nothing but silence may end it: whoever counts from its beginning is far over any limit here.
  await using server = await listening({ headMs: 2_000, idleMs: 60_000, checkMs: 10 });
  const socket = server.connect();
  socket.write(uploadHead("slow", 10));
  for (let sent = 0; sent < 10; sent += 1) {
    socket.write("x");
    await sleep(300);
  }
  const [answer] = (await once(socket, "data")) as [Buffer];
  expect(answer.toString()).toContain("200 OK");
  expect(world.host.files.get("/slow")?.size).toBe(10);
  socket.destroy();
  const { requestTimeout, headersTimeout, timeout } = world.server.app.server;
  expect([requestTimeout, headersTimeout, timeout]).toEqual([0, 60_000, 6 * 60_000]);
});

test("an upload that falls silent is cut, and the host is told", async () => {
  await using server = await listening({ headMs: 60_000, idleMs: 1_500, checkMs: 10 });
  const aborted = world.host.aborted;
  const socket = server.connect();
  socket.write(`${uploadHead("silent", 10)}half`);
  await new Promise((resolve) => socket.once("close", resolve));
  await eventually(() => world.host.aborted === aborted + 1, "the host sees the upload end");
  expect(world.host.files.has("/silent")).toBe(false);
});

test("a request whose head does not come to its end is told that it took too long", async () => {
  await using server = await listening({ headMs: 50, idleMs: 60_000, checkMs: 10 });
  const socket = server.connect();
  socket.write("GET /v1/health HTTP/1.1\r\nhost: x\r\n");
  const [answer] = (await once(socket, "data")) as [Buffer];
  const [head = "", body = ""] = answer.toString().split("\r\n\r\n");
  expect(head).toContain("HTTP/1.1 408 Request Timeout");
  expect(head).toContain("Connection: close");
  expect(JSON.parse(body)).toMatchObject({
    code: "request_timeout",
    message: "The head of the request did not come in time.",
  });
  socket.destroy();
});

test("bytes that are not HTTP are still answered as such", async () => {
  await using server = await listening({ headMs: 60_000, idleMs: 60_000, checkMs: 10 });
  const socket = server.connect();
  socket.write("nonsense\r\n\r\n");
  const [answer] = (await once(socket, "data")) as [Buffer];
  expect(answer.toString()).toContain("HTTP/1.1 400 Bad Request");
  expect(answer.toString()).toContain('"code":"bad_request"');
  socket.destroy();
});

test("a connection whose request had a body that nobody read goes on", async () => {
  await using server = await listening({ headMs: 60_000, idleMs: 60_000, checkMs: 10 });
  const socket = server.connect();
  let closed = false;
  socket.once("close", () => (closed = true));
  const request = "GET /v1/health HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\n";
  for (const body of ["abc", "def"]) {
    socket.write(request);
    await once(socket, "data");
    socket.write(body);
  }
  // Longer than such a body may linger.
  await sleep(2_500);
  expect(closed).toBe(false);
  socket.write(`${request}ghi`);
  const [answer] = (await once(socket, "data")) as [Buffer];
  expect(answer.toString()).toContain("200 OK");
  socket.destroy();
});
