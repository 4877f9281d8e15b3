// Connections to a host that refuses, falls silent or is not there: nobody waits for it for ever, and nothing of it ends this process, for
// which the test runner looks itself: an error that nobody handles fails the run.

import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createPlainServer, type AddressInfo, type Socket } from "node:net";
import { join } from "node:path";
import { Readable, type Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { MOVE_PROTOCOL } from "@skerry/contract/host-api/move-calls";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Peers, type Destination } from "../src/move/peers.ts";

const never = new AbortController().signal;
const limits = { connectMs: 1_000, admitMs: 1_000, silentMs: 1_000 };

let folder: string;
let server: Server;
let streams: Duplex[];
let peers: Peers;
let to: Destination;

beforeEach(async () => {
  folder = await mkdtemp("/tmp/skerry-unit-peers-");
  streams = [];
  peers = new Peers(() => ({}), limits);
  server = createServer().listen(join(folder, "target.sock"));
  await once(server, "listening");
  to = { address: `unix:${join(folder, "target.sock")}`, path: "/vms/sbx_a/arrival", ticket: "0".repeat(64) };
});

afterEach(async () => {
  for (const stream of streams) stream.destroy();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rm(folder, { recursive: true });
});

const refusals: [string, RequestListener, string][] = [
  [
    "refuses",
    (_request, response) => void response.writeHead(409).end('{"message":"it is full"}'),
    "it is full",
  ],
  [
    "breaks off its refusal",
    (request, response) => {
      response.writeHead(409, { "content-length": 500 }).write('{"mess', () => request.socket.destroy());
    },
    "The target cannot be reached",
  ],
  ["hangs up", (request) => void request.socket.destroy(), "The target cannot be reached"],
  ["says nothing", () => undefined, "The target cannot be reached"],
];

test.each(refusals)("a target that %s gets nothing, and the sender is told", async (_what, meet, why) => {
  server.on("request", meet);
  const content = Readable.from([Buffer.alloc(100)]);
  await expect(peers.sendLayer(to, "a".repeat(64), content, never)).rejects.toThrow(why);
  await expect(peers.open(to, "disk", never)).rejects.toThrow(why);
});

test("a target that stops reading is not waited for", async () => {
  server.on("request", (request) => void request.socket.pause());
  const endless = Readable.from(
    (function* () {
      for (;;) yield Buffer.alloc(64 * 1024);
    })(),
  );
  await expect(peers.sendLayer(to, "a".repeat(64), endless, never)).rejects.toMatchObject({
    code: "move_failed",
  });
});

test("a conversation lasts longer than its beginning may", async () => {
  server.on("upgrade", (_request, socket: Duplex) => {
    streams.push(socket);
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: ${MOVE_PROTOCOL}\r\n\r\n`,
    );
    socket.pipe(socket);
  });
  const stream = await peers.open(to, "disk", never);
  await sleep(2 * limits.admitMs);
  stream.write("still there");
  const [answer] = (await once(stream, "data")) as [Buffer];
  expect(answer.toString()).toBe("still there");
  stream.destroy();
});

test("a target that never gets as far as a connection ends nothing but the attempt, however late it fails", async () => {
  const sockets: Socket[] = [];
  const deaf = createPlainServer((socket) => void sockets.push(socket.on("error", () => undefined)));
  deaf.listen(0, "127.0.0.1");
  await once(deaf, "listening");
  const address = `https://hst_a@127.0.0.1:${(deaf.address() as AddressInfo).port}`;
  await expect(peers.open({ ...to, address }, "disk", never)).rejects.toMatchObject({ code: "move_failed" });
  for (const socket of sockets) socket.resetAndDestroy();
  await expect(peers.open({ ...to, address: "unix:/nowhere" }, "disk", never)).rejects.toMatchObject({
    code: "move_failed",
  });
  await new Promise((resolve) => deaf.close(resolve));
});
