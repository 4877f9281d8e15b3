// Connections to ports of a guest, through the host's own route: the guest is in the test's hands.

import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { fastify } from "fastify";
import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { PORT_CONNECTIONS_MAX } from "@skerry/contract/bounds";
import {
  encodeFrame,
  encodeJson,
  FrameParser,
  frameTypes,
  WINDOW_BYTES,
  type Frame,
} from "@skerry/contract/frames";
import { PORT_PROTOCOL } from "@skerry/contract/host-api/ports";
import type { Host } from "../src/app/host.ts";
import { asSkerryError } from "../src/http/conventions.ts";
import { registerPorts } from "../src/http/ports.ts";
import { routeUpgrade } from "../src/http/upgrades.ts";
import { validatorCompiler } from "../src/http/validator-compiler.ts";
import { FakeGuest, type Peer } from "./support/fake-guest.ts";

let guest: FakeGuest;
let peer: Peer;
let port: number;
let leave: () => void = () => undefined;
/** Operations that keep the guest awake. */
let users = 0;
const server = fastify().withTypeProvider<TypeBoxTypeProvider>();

beforeAll(async () => {
  guest = await FakeGuest.start();
  server.setValidatorCompiler(validatorCompiler);
  server.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
    const known = asSkerryError(error);
    return reply.status(known.status).send(known.toBody());
  });
  const useUntilHeld = async (_id: string, _execution: string, onHeld: () => void) => {
    leave = onHeld;
    users += 1;
    return { channel: greeted.channel, [Symbol.dispose]: () => void (users -= 1) };
  };
  const use = (id: string, execution: string) => useUntilHeld(id, execution, () => undefined);
  // More of a host is not asked for here.
  registerPorts(server, { engine: { use, useUntilHeld } } as unknown as Host);
  server.server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) =>
    routeUpgrade(server, { request, socket, head }),
  );
  await server.listen({ host: "127.0.0.1", port: 0 });
  port = (server.server.address() as AddressInfo).port;
});

let greeted: Awaited<ReturnType<FakeGuest["greeted"]>>;
beforeEach(async () => {
  greeted = await guest.greeted();
  peer = greeted.peer;
});

afterAll(async () => {
  await server.close();
  await guest[Symbol.asyncDispose]();
});

/** Control's end of a connection. */
class Connection {
  readonly socket: Duplex;
  readonly closed: Promise<unknown>;
  readonly #parser = new FrameParser();
  readonly #frames: Frame[] = [];
  #changed = Promise.withResolvers<void>();

  private constructor(socket: Duplex) {
    this.socket = socket;
    this.closed = new Promise((resolve) => socket.once("close", resolve));
    socket.on("error", () => undefined);
    socket.on("data", (chunk: Buffer) => {
      this.#frames.push(...this.#parser.push(chunk));
      this.#changed.resolve();
      this.#changed = Promise.withResolvers();
    });
    socket.once("end", () => socket.end());
  }

  static async open(path = "/vms/sbx_1/ports/3000?execution_id=exe_1"): Promise<Connection> {
    const asked = httpRequest({ port, path, headers: { connection: "upgrade", upgrade: PORT_PROTOCOL } });
    asked.end();
    const [, socket, head] = (await once(asked, "upgrade")) as [IncomingMessage, Duplex, Buffer];
    // What is refused at once is told right behind the head of the answer.
    if (head.length > 0) socket.unshift(head);
    return new Connection(socket);
  }

  async next(): Promise<Frame> {
    for (;;) {
      const frame = this.#frames.shift();
      if (frame !== undefined) return frame;
      // oxlint-disable-next-line no-await-in-loop
      await this.#changed.promise;
    }
  }

  send(type: keyof typeof frameTypes, payload = ""): void {
    this.socket.write(encodeFrame(frameTypes[type], 1, Buffer.from(payload)));
  }
}

async function connected(): Promise<{ connection: Connection; stream: number }> {
  const connection = await Connection.open();
  const { id, operation } = await peer.opened();
  expect(operation).toEqual({ op: "connect", port: 3_000 });
  await peer.send(encodeJson(frameTypes.head, id, {}));
  expect((await connection.next()).type).toBe(frameTypes.head);
  return { connection, stream: id };
}

const released = (): Promise<void> => expect.poll(() => users).toBe(0);

test("bytes pass both ways, each direction ends alone, and the host closes when both have", async () => {
  const { connection, stream } = await connected();
  connection.send("data", "question");
  expect((await peer.next("data")).payload.toString()).toBe("question");
  await peer.send(encodeFrame(frameTypes.data, stream, Buffer.from("answer")));
  expect((await connection.next()).payload.toString()).toBe("answer");
  await peer.send(encodeFrame(frameTypes.data, stream));
  expect((await connection.next()).type).toBe(frameTypes.close);
  connection.send("data", "more");
  expect((await peer.next("data")).payload.toString()).toBe("more");
  connection.send("close");
  await peer.next("close");
  await peer.close(stream, {});
  await connection.closed;
  await released();
});

test("a port on which nothing listens is told by its code", async () => {
  const connection = await Connection.open();
  const { id } = await peer.opened();
  await peer.send(encodeJson(frameTypes.reset, id, { code: "connection_refused", message: "no" }));
  const told = await connection.next();
  expect(told.type).toBe(frameTypes.reset);
  expect(JSON.parse(told.payload.toString())).toMatchObject({ code: "port_not_listening" });
  await connection.closed;
  await released();
});

test("a reset in the guest is no end, and a connection that control cuts is reset in the guest", async () => {
  const first = await connected();
  await peer.send(encodeFrame(frameTypes.data, first.stream, Buffer.from("part")));
  await peer.send(encodeJson(frameTypes.reset, first.stream, { code: "connection_reset", message: "x" }));
  expect((await first.connection.next()).payload.toString()).toBe("part");
  expect((await first.connection.next()).type).toBe(frameTypes.reset);
  const second = await connected();
  second.connection.socket.destroy();
  expect((await peer.next("reset")).stream).toBe(second.stream);
  await peer.send(encodeJson(frameTypes.reset, second.stream, { code: "canceled", message: "x" }));
  await released();
});

test("control that breaks the protocol loses its connection", async () => {
  const { connection, stream } = await connected();
  connection.socket.write(Buffer.from([99, 1, 2, 3]));
  expect((await peer.next("reset")).stream).toBe(stream);
  await peer.send(encodeJson(frameTypes.reset, stream, { code: "canceled", message: "x" }));
  await connection.closed;
  await released();
});

test("a guest that goes on after the end of its output has broken the protocol", async () => {
  const { connection, stream } = await connected();
  await peer.send(encodeFrame(frameTypes.data, stream), encodeFrame(frameTypes.data, stream));
  await greeted.channel.closed;
  await connection.closed;
  await released();
});

test("no other operation may end its output by halves", async () => {
  const stream = greeted.channel.open({ op: "read", path: "/x" });
  const { id } = await peer.opened();
  await peer.send(encodeFrame(frameTypes.data, id));
  expect((await greeted.channel.closed).message).toContain("output that is empty");
  await expect(stream.result()).rejects.toThrow();
});

test("a guest that does not read holds control up, and the end of control is noticed all the same", async () => {
  const { connection, stream } = await connected();
  const piece = "x".repeat(64 * 1024);
  for (let sent = 0; sent < 2 * WINDOW_BYTES; sent += piece.length) {
    connection.send("data", piece);
    // oxlint-disable-next-line no-await-in-loop
    if (sent >= WINDOW_BYTES) expect((await connection.next()).type).toBe(frameTypes.window);
  }
  let got = 0;
  while (got < WINDOW_BYTES) {
    // oxlint-disable-next-line no-await-in-loop
    got += (await peer.next("data")).payload.length;
  }
  expect(got).toBe(WINDOW_BYTES);
  connection.socket.destroy();
  expect((await peer.next("reset")).stream).toBe(stream);
  await peer.send(encodeJson(frameTypes.reset, stream, { code: "canceled", message: "x" }));
  await released();
});

test("control that sends more than it may loses its connection", async () => {
  const { connection, stream } = await connected();
  const piece = "x".repeat(64 * 1024);
  // What the guest's window and the host's hold, and more.
  for (let sent = 0; sent < 3 * WINDOW_BYTES; sent += piece.length) connection.send("data", piece);
  expect((await peer.next("reset")).stream).toBe(stream);
  await peer.send(encodeJson(frameTypes.reset, stream, { code: "canceled", message: "x" }));
  await connection.closed;
  await released();
});

test("a move ends what would never end by itself", async () => {
  const { connection, stream } = await connected();
  leave();
  await connection.closed;
  expect((await peer.next("reset")).stream).toBe(stream);
  await peer.send(encodeJson(frameTypes.reset, stream, { code: "canceled", message: "x" }));
  await released();
});

test("a VM has so many connections and no more", async () => {
  const open: Connection[] = [];
  for (let i = 0; i < PORT_CONNECTIONS_MAX; i += 1) {
    // oxlint-disable-next-line no-await-in-loop
    open.push((await connected()).connection);
  }
  const refused = await (await Connection.open()).next();
  expect(JSON.parse(refused.payload.toString())).toMatchObject({ code: "sandbox_busy" });
  greeted.channel.close("the test is over");
  await Promise.all(open.map(({ closed }) => closed));
  await released();
});

test("a list of ports with nonsense in it is cleaned, and one that is none ends the guest", async () => {
  const list = () => fetch(`http://127.0.0.1:${port}/vms/sbx_1/ports?execution_id=exe_1`);
  const asked = list();
  const { id } = await peer.opened();
  const lines = [
    { port: 80, address: "0.0.0.0", process: "a".repeat(1_000) },
    { port: 70_000, address: "x", process: "y" },
    { port: "22", address: 5 },
  ].map((line) => JSON.stringify(line));
  await peer.send(encodeFrame(frameTypes.data, id, Buffer.from(lines.join("\n"))));
  await peer.close(id, { truncated: false });
  expect(await (await asked).json()).toEqual({
    items: [{ port: 80, address: "0.0.0.0", process: "a".repeat(50) }],
    truncated: false,
  });
  const second = list();
  const again = await peer.opened();
  await peer.send(encodeFrame(frameTypes.data, again.id, Buffer.from("not json\n")));
  expect((await second).status).toBe(502);
});
