// Clients that do not keep to the protocol of forwards.

import { EventEmitter, once } from "node:events";
import { afterEach, expect, test } from "vitest";
import { WebSocket } from "ws";
import {
  FORWARD_PROTOCOL,
  FORWARD_STREAMS_MAX,
  FORWARD_WINDOW_BYTES,
  forwardMessage,
  forwardTypes,
  readForwardFrame,
  windowMessage,
  type ForwardFrame,
} from "@skerry/contract/vms/forward";
import { runForward } from "../src/vms/forward/forward-session.ts";
import { GuestPorts } from "./support/guest-port.ts";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();
const guest = new GuestPorts(world);
const open: WebSocket[] = [];
afterEach(() => {
  for (const socket of open.splice(0)) socket.terminate();
});

/** A client whose messages are in the test's hands. */
class Raw {
  readonly socket: WebSocket;
  readonly frames: ForwardFrame[] = [];

  private constructor(port: number) {
    const url = `${world.url.replace("http", "ws")}/v1/sandboxes/${guest.id}/forward?port=${port}`;
    const headers = { authorization: `Bearer ${world.token}` };
    this.socket = new WebSocket(url, FORWARD_PROTOCOL, { headers });
    this.socket.on("error", () => undefined);
    this.socket.on("message", (data: Buffer) => {
      const frame = readForwardFrame(data);
      if (frame !== undefined) this.frames.push(frame);
    });
  }

  static async open(port: number): Promise<Raw> {
    const raw = new Raw(port);
    open.push(raw.socket);
    await once(raw.socket, "open");
    return raw;
  }

  of(type: ForwardFrame["type"], stream: number): ForwardFrame[] {
    return this.frames.filter((frame) => frame.type === type && frame.stream === stream);
  }
}

const opened = [forwardMessage("open", 1)];
const breaches: readonly (readonly [what: string, messages: readonly (Uint8Array | string)[]])[] = [
  ["text", ["hello"]],
  ["no frame", [Buffer.from([forwardTypes.data, 1])]],
  ["a type that there is not", [Buffer.from([9, 1, 0, 0, 0])]],
  ["a message that only the server sends", [forwardMessage("opened", 1)]],
  ["a stream that was not opened", [forwardMessage("data", 7, Buffer.from("x"))]],
  ["stream 0", [forwardMessage("open", 0)]],
  ["a number twice", [...opened, forwardMessage("open", 1)]],
  ["a number that falls", [forwardMessage("open", 5), forwardMessage("open", 4)]],
  ["its end twice", [...opened, forwardMessage("end", 1), forwardMessage("end", 1)]],
  ["data after its end", [...opened, forwardMessage("end", 1), forwardMessage("data", 1, Buffer.from("x"))]],
  [
    "more data than its credit",
    [
      ...opened,
      ...Array.from({ length: 5 }, () => forwardMessage("data", 1, Buffer.alloc(FORWARD_WINDOW_BYTES / 4))),
    ],
  ],
  ["too large a frame", [...opened, forwardMessage("data", 1, Buffer.alloc(FORWARD_WINDOW_BYTES / 4 + 1))]],
  ["data that is empty", [...opened, forwardMessage("data", 1)]],
  ["a window that is none", [...opened, forwardMessage("window", 1, Buffer.from("x"))]],
  ["more credit than there can be", [...opened, windowMessage(1, 2 ** 32 - 1)]],
];

test.each(breaches)(
  "a client that sends %s is told so, and has no connection left",
  async (_what, messages) => {
    const silent = guest.listen(() => undefined);
    const raw = await Raw.open(silent);
    for (const message of messages) raw.socket.send(message);
    const [code] = (await once(raw.socket, "close")) as [number];
    expect(code).toBe(1011);
    const [last] = raw.of("reset", 0);
    expect(JSON.parse(Buffer.from(last?.payload ?? []).toString())).toMatchObject({ code: "bad_request" });
    await eventually(() => world.host.ports.open === 0, "nothing is left");
  },
);

test("a client that asks and asks and reads no answer is cut off", async () => {
  const raw = await Raw.open(guest.listen(() => undefined));
  raw.socket.pause();
  const closed = once(raw.socket, "close");
  let isCut = false;
  void closed.then(() => (isCut = true));
  for (let stream = 1; !isCut && stream <= 1_000_000; stream += 1) {
    raw.socket.send(forwardMessage("open", stream), () => undefined);
    // oxlint-disable-next-line no-await-in-loop
    if (stream % 1_000 === 0) await new Promise(setImmediate);
  }
  await eventually(() => world.host.ports.open === 0, "its connections have ended");
  raw.socket.resume();
  await closed;
});

test("single bytes arrive in order", async () => {
  const got: Buffer[] = [];
  const port = guest.listen((connection) => connection.on("data", (chunk: Buffer) => got.push(chunk)));
  const raw = await Raw.open(port);
  raw.socket.send(forwardMessage("open", 1));
  const bytes = Buffer.from(Array.from({ length: 5_000 }, (_, at) => at % 251));
  for (const byte of bytes) raw.socket.send(forwardMessage("data", 1, Buffer.of(byte)));
  await eventually(() => Buffer.concat(got).length === bytes.length, "all has arrived");
  expect(Buffer.concat(got)).toEqual(bytes);
});

test("connections that are given up while they are made are as many as any", async () => {
  const sent: ForwardFrame[] = [];
  const send = (message: Buffer): void => {
    const frame = readForwardFrame(message);
    if (frame !== undefined) sent.push(frame);
  };
  const socket = Object.assign(new EventEmitter(), {
    ...{ readyState: 1, OPEN: 1, bufferedAmount: 0 },
    send,
  });
  let asked = 0;
  const never = (): Promise<never> => {
    asked += 1;
    return Promise.withResolvers<never>().promise;
  };
  const target = { connect: never, lost: async () => undefined, ended: new AbortController().signal };
  const running = runForward(socket as unknown as WebSocket, target);
  for (let stream = 1; stream <= 400; stream += 1) {
    socket.emit("message", Buffer.from(forwardMessage("open", stream)), true);
    socket.emit("message", Buffer.from(forwardMessage("reset", stream)), true);
  }
  expect(asked).toBe(FORWARD_STREAMS_MAX);
  expect(sent.map(({ type, stream }) => [type, stream])).toContainEqual(["reset", 400]);
  socket.emit("close");
  await running;
});

test("more connections than there may be are refused one by one, and what is sent to an ended one is dropped", async () => {
  const silent = guest.listen(() => undefined);
  const raw = await Raw.open(silent);
  for (let stream = 1; stream <= 130; stream += 1) raw.socket.send(forwardMessage("open", stream));
  await eventually(() => raw.of("reset", 130).length === 1, "the last is refused");
  expect(JSON.parse(Buffer.from(raw.of("reset", 129)[0]?.payload ?? []).toString())).toMatchObject({
    code: "sandbox_busy",
  });
  // One that is given up while it is made counts until that has ended.
  await eventually(() => raw.of("opened", 1).length === 1, "the first is there");
  raw.socket.send(forwardMessage("reset", 1));
  raw.socket.send(forwardMessage("data", 1, Buffer.from("late")));
  raw.socket.send(forwardMessage("data", 130, Buffer.from("late")));
  raw.socket.send(forwardMessage("open", 131));
  await eventually(() => raw.of("opened", 131).length === 1, "there is room again");
  raw.socket.terminate();
  await eventually(() => world.host.ports.open === 0, "its connections have ended with it");
});
