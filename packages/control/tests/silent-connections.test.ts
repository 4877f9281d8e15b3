// Peers that hold connections without showing a token: they keep no client out, and lose theirs first.

import { createPrivateKey, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { beforeAll, expect, test } from "vitest";
import type { ConnectionBounds } from "@skerry/contract/connections/connection-table";
import { buildServer, type ServerOptions } from "../src/app/server.ts";
import { connectionLimits, type KeyPair } from "../src/http/http-server.ts";
import { certify, makeAuthority, newKeyPair, pemOf } from "../src/joining/x509.ts";
import { MetricsCollector } from "../src/platform/metrics-collector.ts";
import { parseExposition, valueOf } from "./support/exposition.ts";
import { startControl } from "./support/replica.ts";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();
let id: string;
beforeAll(async () => {
  id = (await world.createSandbox()).id;
});

const bounds: ConnectionBounds = { perAddress: 8, closable: 24, files: 60, perOwner: 100 };
const [HERE, THERE] = ["127.0.0.1", "127.0.0.2"];
const authorized = () => `authorization: Bearer ${world.token}\r\n`;
const head = (fields = "") => `GET /v1/sizes HTTP/1.1\r\nhost: x\r\n${fields}\r\n`;

interface Door extends AsyncDisposable {
  readonly port: number;
  readonly tlsPort: number;
  /** From this address. */
  open(from: string, count?: number): Promise<Socket[]>;
}

/** Deadlines are far away unless a test says otherwise. */
async function listening(options: ServerOptions = {}): Promise<Door> {
  const limits = { ...connectionLimits, firstByteMs: 600_000, headMs: 600_000 };
  const server = await buildServer(world.context, { limits, bounds, ...options });
  await server.app.listen({ host: "127.0.0.1", port: 0 });
  const secured = server.overTls(keyPair());
  await once(secured.listen(0, "127.0.0.1"), "listening");
  const { port } = server.app.server.address() as AddressInfo;
  const opened: Socket[] = [];
  return {
    port,
    tlsPort: (secured.address() as AddressInfo).port,
    async open(from, count = 1) {
      const sockets: Socket[] = [];
      // One after the other, so that the oldest is known.
      while (sockets.length < count) sockets.push(await connected(port, from));
      opened.push(...sockets);
      return sockets;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of opened) socket.destroy();
      await server.stop(0);
    },
  };
}

function keyPair(): KeyPair {
  const { certificate, privateKey } = makeAuthority();
  const keys = {
    privateKey: createPrivateKey(privateKey),
    publicKey: new X509Certificate(certificate).publicKey,
  };
  const own = newKeyPair();
  const leaf = { uri: "spiffe://test", publicKey: own.publicKey, lifetimeMs: 3_600_000 };
  return { cert: certify(keys, { ...leaf, purposes: ["server"] }), key: pemOf(own.privateKey) };
}

async function connected(port: number, localAddress: string): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", localAddress }).on("error", () => undefined);
  await once(socket, "connect");
  return socket;
}

const areOpen = (sockets: readonly Socket[]) => sockets.map(({ closed }) => !closed);
const settled = (sockets: readonly Socket[], open: number) =>
  eventually(() => areOpen(sockets).filter(Boolean).length <= open, `${open} of ${sockets.length} are left`);

/** A new connection with a token. The status of its answer, or what went wrong. */
function ask(port: number, localAddress: string): Promise<number | string> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${world.token}` };
    const options = { host: "127.0.0.1", port, localAddress, path: "/v1/sizes", agent: false, headers };
    httpRequest(options, (response) => resolve(response.resume().statusCode ?? 0))
      .on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? "error"))
      .end();
  });
}

/** Sends on a connection that is kept, and reads the status of the answer. */
async function statusOn(socket: Socket, text: string): Promise<number> {
  socket.write(text);
  const [answer] = (await once(socket, "data")) as [Buffer];
  return Number(/^HTTP\/1\.1 (\d+)/.exec(answer.toString("latin1"))?.[1]);
}

test("silent connections of one address lose the oldest of them, and keep no client out, there or elsewhere", async () => {
  await using door = await listening();
  const logged = world.log.length;
  const [kept, unknown] = await door.open(THERE, 2);
  expect(await statusOn(kept as Socket, head(authorized()))).toBe(200);
  // What needs no token, or has a wrong one, authenticates nothing.
  expect(await statusOn(unknown as Socket, "GET /v1/health HTTP/1.1\r\nhost: x\r\n\r\n")).toBe(200);
  expect(await statusOn(unknown as Socket, head("authorization: Bearer sk_wrong\r\n"))).toBe(401);
  const [other] = await door.open("127.0.0.3");
  const silent = [unknown as Socket, ...(await door.open(THERE, 29))];
  await settled(silent, bounds.perAddress);
  expect(areOpen(silent)).toEqual(silent.map((_, n) => n >= silent.length - bounds.perAddress));
  expect([await ask(door.port, THERE), await ask(door.port, HERE)]).toEqual([200, 200]);
  expect(await statusOn(kept as Socket, head(authorized()))).toBe(200);
  expect(await statusOn(other as Socket, head(authorized()))).toBe(200);
  const lines = world.log.slice(logged).filter(({ msg }) => String(msg).includes("make room"));
  expect(lines).toEqual([expect.objectContaining({ level: 40, address: 1, last_address: THERE })]);
});

test("heads that trickle in are as silent as no byte at all", async () => {
  await using door = await listening();
  const slow = await door.open(THERE, 8);
  for (const socket of slow) socket.write("GET /v1/sizes HTTP/1.1\r\nx: ");
  const drip = setInterval(() => slow.forEach((socket) => socket.write("a")), 20);
  const next = await door.open(THERE, 4);
  await settled(slow, 4);
  clearInterval(drip);
  expect([...areOpen(slow), ...areOpen(next)]).toEqual([0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1].map(Boolean));
});

test("beyond the bound of all the address with the most loses its oldest, and clients are served with what is kept for them", async () => {
  await using door = await listening();
  const kept = await door.open(HERE, 6);
  for (const socket of kept) expect(await statusOn(socket, head(authorized()))).toBe(200);
  const [lone] = await door.open("127.0.0.3");
  const many: Socket[] = [];
  for (let n = 4; n < 12; n += 1) many.push(...(await door.open(`127.0.0.${n}`, bounds.perAddress)));
  await settled(many, bounds.closable - 1);
  expect([await ask(door.port, HERE), await ask(door.port, THERE)]).toEqual([200, 200]);
  for (const socket of kept) expect(await statusOn(socket, head(authorized()))).toBe(200);
  expect(await statusOn(lone as Socket, head(authorized()))).toBe(200);
});

test("a process with few files serves while more silent connections come than it has files", async () => {
  await using control = await startControl(world, {}, { files: 400 });
  const port = Number(new URL(control.url).port);
  const sockets: Socket[] = [];
  try {
    for (let n = 0; n < 600; n += 1) sockets.push(await connected(port, `127.0.1.${n % 4}`));
    for (const from of [HERE, "127.0.1.1"]) expect(await ask(port, from)).toBe(200);
    expect(areOpen(sockets).filter(Boolean).length).toBeLessThan(400);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
});

test("a trusted proxy may have more, and its clients are told apart as ever", async () => {
  await using door = await listening({ trustedProxies: [THERE] });
  const proxied = await door.open(THERE, 20);
  const strangers = await door.open("127.0.0.3", 20);
  await settled(strangers, 4);
  expect(areOpen(proxied)).toEqual(proxied.map(() => true));
  expect([await ask(door.port, THERE), await ask(door.port, HERE)]).toEqual([200, 200]);
});

test("a connection has so long for its first byte, and a head that has begun has its own time", async () => {
  const limits = { ...connectionLimits, firstByteMs: 3_000, headMs: 600_000 };
  await using door = await listening({ limits });
  const [begun] = await door.open(HERE);
  begun?.write("GET /v1/sizes HTTP/1.1\r\n");
  const silent = await door.open(HERE, 3);
  await settled(silent, 0);
  expect(await statusOn(begun as Socket, `host: x\r\n${authorized()}\r\n`)).toBe(200);
});

async function secure(port: number): Promise<TLSSocket> {
  const socket = connectTls({ port, host: "127.0.0.1", rejectUnauthorized: false });
  await once(
    socket.on("error", () => undefined),
    "secureConnect",
  );
  return socket;
}

test("over TLS handshakes and silent connections are bounded together, and an authenticated connection is kept", async () => {
  await using door = await listening();
  const kept = await secure(door.tlsPort);
  expect(await statusOn(kept, head(authorized()))).toBe(200);
  const first = [await secure(door.tlsPort), await secure(door.tlsPort)];
  const handshakes: Socket[] = [];
  while (handshakes.length < 20) handshakes.push(await connected(door.tlsPort, HERE));
  await settled([...first, ...handshakes], bounds.perAddress);
  expect(areOpen([...first, ...handshakes])).toEqual([...first, ...handshakes].map((_, n) => n >= 14));
  const more = await secure(door.tlsPort);
  expect(await statusOn(more, head(authorized()))).toBe(200);
  expect(await statusOn(kept, head(authorized()))).toBe(200);
  for (const socket of [kept, more, ...handshakes]) socket.destroy();
});

test("a TLS handshake has so long, however it trickles, and then the first byte has as long", async () => {
  await using door = await listening({
    limits: { ...connectionLimits, firstByteMs: 3_000, headMs: 600_000 },
  });
  const silent = await connected(door.tlsPort, HERE);
  const slow = await connected(door.tlsPort, HERE);
  slow.write(Buffer.from("16030102000100", "hex"));
  const drip = setInterval(() => slow.write("\0"), 100);
  const secured = await secure(door.tlsPort);
  await settled([silent, slow, secured], 0);
  clearInterval(drip);
});

async function figure(name: string, labels: Record<string, string>): Promise<number> {
  const text = await new MetricsCollector(world.context).text("prometheus");
  return valueOf(parseExposition(text, "text/plain; version=0.0.4; charset=utf-8"), name, labels);
}
const held = (state: string) => figure("skerry_connections", { state });
const refused = (reason: string) => figure("skerry_connections_refused_total", { reason });

test("metrics tell what is held and what was closed", async () => {
  const [refusedBefore, before] = [await refused("address"), await held("silent")];
  {
    await using door = await listening();
    const sockets = await door.open(THERE, 11);
    await settled(sockets, 8);
    expect([await refused("address"), await held("silent")]).toEqual([refusedBefore + 3, before + 8]);
    const authenticated = await held("authenticated");
    expect(await statusOn(sockets.at(-1) as Socket, head(authorized()))).toBe(200);
    expect([await held("authenticated"), await held("silent")]).toEqual([authenticated + 1, before + 7]);
  }
  await eventually(async () => (await held("silent")) === before, "those that have ended are not counted");
});

test("handshakes that fail, or that their client gives up, are not counted any more", async () => {
  await using door = await listening();
  const before = await held("silent");
  const noise = await connected(door.tlsPort, HERE);
  noise.resume().write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  const old = connectTls({
    port: door.tlsPort,
    host: "127.0.0.1",
    maxVersion: "TLSv1.1",
    minVersion: "TLSv1",
  });
  old.on("error", () => undefined).resume();
  const given = await connected(door.tlsPort, HERE);
  given.write(Buffer.from("16030102000100", "hex"));
  const reset = await connected(door.tlsPort, HERE);
  await eventually(async () => (await held("silent")) >= before + 2, "those that are under way are counted");
  given.end();
  reset.resetAndDestroy();
  const secured = await secure(door.tlsPort);
  secured.end();
  await eventually(async () => (await held("silent")) === before, "none is counted");
  given.destroy();
});

test("a visitor's upload goes on beside silent connections, and its connection is as silent as others afterwards", async () => {
  await using door = await listening();
  const { body } = await world.call<{ url: string }>("POST", `/v1/sandboxes/${id}/urls`, {
    body: { path: "/from/outside", method: "PUT" },
  });
  const { pathname, search } = new URL(body.url);
  const [visitor] = await door.open(THERE);
  visitor?.write(`PUT ${pathname}${search} HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\nha`);
  await eventually(async () => (await held("visitor")) === 1, "it was let in");
  await settled(await door.open(THERE, 20), bounds.perAddress);
  expect(await statusOn(visitor as Socket, "lf")).toBe(200);
  await settled([visitor as Socket, ...(await door.open(THERE, 8))], bounds.perAddress);
  expect(areOpen([visitor as Socket])).toEqual([false]);
});

test("an upgrade that was refused holds no connection, whatever its client does", async () => {
  await using door = await listening();
  const before = await held("silent");
  // It never ends its own side.
  const socket = connect({ port: door.port, host: "127.0.0.1", allowHalfOpen: true });
  socket.on("error", () => undefined).resume();
  const key = `sec-websocket-version: 13\r\nsec-websocket-key: ${"A".repeat(22)}==\r\n`;
  const fields = `host: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n${key}`;
  socket.write(`GET /v1/sandboxes/${id}/forward?port=1 HTTP/1.1\r\n${fields}\r\n`);
  await once(socket, "end");
  await eventually(async () => (await held("silent")) === before, "the server has closed it");
  socket.destroy();
});

test.each([
  ["a login", "/v1/auth/sessions", 413],
  ["a host that joins", "/v1/hosts/join", 413],
  ["nothing", "/v1/nothing", 404],
  ["a method that is not there", "/v1/health", 405],
  ["a call that needs a token", "/v1/sandboxes", 401],
])("before a token is shown, no large body is read: of a request for %s", async (...[, path, status]) => {
  await using door = await listening();
  const [socket] = await door.open(HERE);
  const fields = `host: x\r\ncontent-type: application/json\r\ncontent-length: ${64 * 1024}\r\n`;
  expect(await statusOn(socket as Socket, `POST ${path} HTTP/1.1\r\n${fields}\r\n{`)).toBe(status);
});
