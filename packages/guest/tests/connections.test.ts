import { once } from "node:events";
import { readdirSync } from "node:fs";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";

import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";

import { type Build, buildSanitized, type RunningAgent, startAgent } from "./support/sanitized.ts";

const BUILD_MS = 120_000;
let build: Build;
let agent: RunningAgent;
let servers: Server[];
beforeAll(async () => void (build = await buildSanitized()), BUILD_MS);
beforeEach(async () => {
  servers = [];
  agent = await startAgent(build);
});
afterEach(async () => {
  for (const server of servers) server.close();
  expect(await agent.stop()).toBe("");
});

/** Its port. */
async function listen(onConnection: (socket: Socket) => void, host = "127.0.0.1"): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => undefined);
    onConnection(socket);
  });
  servers.push(server);
  server.listen(0, host);
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

const openFiles = (): number => readdirSync(`/proc/${agent.pid}/fd`).length;

test("a connection carries bytes both ways, and ends when both directions have", async () => {
  const port = await listen((socket) => socket.pipe(socket));
  const before = openFiles();
  const connection = agent.link.open({ op: "connect", port });
  await connection.write(Buffer.from("hello"));
  await connection.until(() => connection.stdout.toString() === "hello");
  connection.close();
  const ended = await connection.ended;
  expect(ended).toMatchObject({ done: true, head: {}, result: {} });
  expect(ended.stdout.toString()).toBe("hello");
  expect(openFiles()).toBe(before);
});

test("a server that has ended its direction still hears what the host sends", async () => {
  let heard = "";
  const port = await listen((socket) => {
    socket.end("all that I say");
    socket.on("data", (bytes: Buffer) => (heard += bytes.toString()));
  });
  const connection = agent.link.open({ op: "connect", port });
  await connection.until(() => connection.outputEnded);
  await connection.write(Buffer.from("and I listen"));
  connection.close();
  expect((await connection.ended).done).toBe(true);
  expect(connection.stdout.toString()).toBe("all that I say");
  await connection.until(() => heard === "and I listen");
});

test("a server hears that the host has ended its direction, and may go on answering", async () => {
  const port = await listen((socket) => {
    let bytes = 0;
    socket.on("data", (chunk: Buffer) => (bytes += chunk.length));
    socket.on("end", () => socket.end(`got ${bytes}`));
  });
  const connection = agent.link.open({ op: "connect", port });
  await connection.write(Buffer.alloc(3_000_000));
  connection.close();
  expect((await connection.ended).stdout.toString()).toBe("got 3000000");
});

test("a server on the IPv6 loopback alone is found", async () => {
  const port = await listen((socket) => socket.end("six"), "::1");
  const connection = agent.link.open({ op: "connect", port });
  connection.close();
  expect((await connection.ended).stdout.toString()).toBe("six");
});

test("a port on which nothing listens is refused, without a head", async () => {
  const port = await listen(() => undefined);
  servers.pop()?.close();
  const refused = await agent.link.open({ op: "connect", port }).ended;
  expect(refused).toMatchObject({ done: false, head: undefined, result: { code: "connection_refused" } });
});

test.each([0, -1, 65_536])("port %d is refused as none", async (port) => {
  const refused = await agent.link.open({ op: "connect", port }).ended;
  expect(refused.result).toMatchObject({ code: "bad_request" });
});

test("a connection that the host cancels is reset for its server, and one that its server resets for the host", async () => {
  const errors: unknown[] = [];
  const port = await listen((socket) => socket.on("error", (error) => errors.push(error)));
  const canceled = agent.link.open({ op: "connect", port });
  await canceled.until(() => canceled.head !== undefined);
  canceled.cancel();
  expect((await canceled.ended).result).toMatchObject({ code: "canceled" });
  await canceled.until(() => errors.length > 0);
  expect(errors[0]).toMatchObject({ code: "ECONNRESET" });

  const resetting = await listen((socket) => socket.once("data", () => socket.resetAndDestroy()));
  const broken = agent.link.open({ op: "connect", port: resetting });
  await broken.write(Buffer.from("x"));
  expect(await broken.ended).toMatchObject({ done: false, result: { code: "connection_reset" } });
});

test("a host that grants nothing stops its own connection only, and then gets every byte", async () => {
  const data = Buffer.alloc(2_000_000, "skerry ");
  const port = await listen((socket) => socket.end(data));
  const stalled = agent.link.open({ op: "connect", port }, { grants: false });
  const other = agent.link.open({ op: "connect", port });
  other.close();
  expect((await other.ended).stdout.equals(data)).toBe(true);
  await stalled.until(() => stalled.stdout.length === 256 * 1024);
  stalled.grant(data.length);
  stalled.close();
  expect((await stalled.ended).stdout.equals(data)).toBe(true);
});

test("a server that does not read stops its own connection only", async () => {
  const port = await listen((socket) => socket.pause());
  const deaf = agent.link.open({ op: "connect", port });
  const written = deaf.write(Buffer.alloc(50_000_000)).catch(() => undefined);
  expect((await agent.link.execute("echo fine")).stdout.toString()).toBe("fine\n");
  deaf.cancel();
  expect((await deaf.ended).result).toMatchObject({ code: "canceled" });
  await written;
});

test("connections of a conversation end with it", async () => {
  const gone: boolean[] = [];
  const port = await listen((socket) => socket.on("close", () => gone.push(true)));
  const connection = agent.link.open({ op: "connect", port });
  await connection.until(() => connection.head !== undefined);
  await agent.link.hello();
  await connection.until(() => gone.length === 1);
});

test("what listens is told with its address and its program", async () => {
  const four = await listen(() => undefined);
  const six = await listen(() => undefined, "::1");
  const told = await agent.link.open({ op: "ports", limit: 1_000 }).ended;
  expect(told).toMatchObject({ done: true, result: { truncated: false } });
  const ports = told.stdout
    .toString()
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as { port: number; address: string; process: string });
  expect(ports.find(({ port }) => port === four)).toMatchObject({ address: "127.0.0.1" });
  expect(ports.find(({ port }) => port === six)).toMatchObject({ address: "::1" });
  expect(ports.find(({ port }) => port === four)?.process).not.toBe("");
  const cut = await agent.link.open({ op: "ports", limit: 1 }).ended;
  expect(cut.result).toEqual({ truncated: true });
  expect(cut.stdout.toString().trim().split("\n")).toHaveLength(1);
});
