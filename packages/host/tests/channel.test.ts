import { randomBytes } from "node:crypto";
import {
  encodeFrame,
  encodeHeader,
  encodeHello,
  encodeJson,
  encodeWindow,
  frameTypes,
  PAYLOAD_MAX_BYTES,
  REQUEST_MAX_BYTES,
  WINDOW_BYTES,
} from "@skerry/contract/frames";
import { SANDBOX_MAX_STREAMS } from "@skerry/contract/bounds";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { exitOf, startExecute } from "../src/guest/agent.ts";
import type { GuestChannel } from "../src/guest/channel.ts";
import { FakeGuest, type Peer } from "./support/fake-guest.ts";

const MIB = 1024 * 1024;
const READ = { op: "read", path: "/f" } as const;

let guest: FakeGuest;
let channel: GuestChannel;
let peer: Peer;
beforeEach(async () => {
  guest = await FakeGuest.start();
  ({ channel, peer } = await guest.greeted());
});
afterEach(async () => {
  vi.useRealTimers();
  channel.close("the test is over");
  await guest[Symbol.asyncDispose]();
});

test("output, error output and the result of an operation arrive in order and whole", async () => {
  const stream = channel.open({ op: "write", path: "/f", mode: 0o644 });
  const { id, operation } = await peer.opened();
  expect(operation).toEqual({ op: "write", path: "/f", mode: 0o644 });
  await peer.send(
    encodeFrame(frameTypes.data, id, Buffer.from("one ")),
    encodeFrame(frameTypes.stderr, id, Buffer.from("two ")),
    encodeFrame(frameTypes.data, id, Buffer.alloc(9_000, "3")),
    encodeJson(frameTypes.close, id, { size: 7 }),
  );
  const seen: string[] = [];
  for (let part = await stream.read(); part !== undefined; part = await stream.read()) {
    seen.push(`${part.kind}:${part.bytes.toString().slice(0, 4)}`);
  }
  expect(seen).toEqual(["data:one ", "stderr:two ", "data:3333"]);
  await expect(stream.result()).resolves.toEqual({ size: 7 });
});

test("input flows as far as the guest gives credit, and on when it gives more", async () => {
  const stream = channel.open({ op: "write", path: "/f", mode: 0o644 });
  const { id } = await peer.opened();
  const bytes = randomBytes(WINDOW_BYTES + 100_000);
  const written = stream.write(bytes);
  const received: Buffer[] = [];
  const take = async (wanted: number): Promise<void> => {
    while (Buffer.concat(received).length < wanted) received.push((await peer.next("data")).payload);
  };
  await take(WINDOW_BYTES);
  expect(Buffer.concat(received)).toHaveLength(WINDOW_BYTES);
  await peer.send(encodeWindow(id, 100_000));
  await take(bytes.length);
  await written;
  expect(Buffer.concat(received).equals(bytes)).toBe(true);
});

test("a reader that takes what comes lets the guest send any number of windows", async () => {
  const stream = channel.open(READ);
  const { id } = await peer.opened();
  const wanted = 5 * WINDOW_BYTES;
  const send = async (): Promise<void> => {
    let credit = WINDOW_BYTES;
    for (let sent = 0; sent < wanted; sent += PAYLOAD_MAX_BYTES) {
      while (credit < PAYLOAD_MAX_BYTES) credit += (await peer.next("window")).payload.readUInt32LE();
      await peer.send(encodeFrame(frameTypes.data, id, Buffer.alloc(PAYLOAD_MAX_BYTES)));
      credit -= PAYLOAD_MAX_BYTES;
    }
    await peer.close(id, {});
  };
  const sending = send();
  let read = 0;
  for (let part = await stream.read(); part !== undefined; part = await stream.read())
    read += part.bytes.length;
  await sending;
  expect(read).toBe(wanted);
});

test("a guest that ends an operation early ends its input too, without an error of its own", async () => {
  const stream = channel.open({ op: "write", path: "/f", mode: 0o644 });
  const { id } = await peer.opened();
  const writing = stream.write(Buffer.alloc(2 * WINDOW_BYTES));
  await peer.send(encodeJson(frameTypes.reset, id, { code: "no_space", message: "full" }));
  await writing;
  expect(stream.ended).toBe(true);
  await expect(stream.result()).rejects.toMatchObject({
    name: "GuestRefusal",
    code: "no_space",
    message: "full",
  });
});

const data = (id: number, bytes: Buffer): Buffer => encodeFrame(frameTypes.data, id, bytes);
const head = (id: number): Buffer => encodeJson(frameTypes.head, id, { size: 1 });
const tooLong = encodeHeader(frameTypes.data, 1, 0);
tooLong.writeUInt32LE(PAYLOAD_MAX_BYTES + 1, 1);

const violations: [string, (id: number) => Buffer[], string][] = [
  ["sends bytes that are no frame", () => [Buffer.alloc(20, 0xff)], "frame type 255 does not exist"],
  ["announces a frame longer than any may be", () => [tooLong], "65537 bytes is longer than 65536"],
  [
    "uses a stream that was never opened",
    () => [data(77, Buffer.of(1))],
    "it used stream 77, which is not open",
  ],
  ["uses stream 0", () => [data(0, Buffer.of(1))], "it used stream 0, which is not open"],
  [
    "goes on with a stream that it has ended",
    (id) => [encodeJson(frameTypes.close, id, {}), data(id, Buffer.of(1))],
    "which is not open",
  ],
  [
    "sends more than it has credit for",
    (id) => [
      ...Array.from({ length: 4 }, () => data(id, Buffer.alloc(PAYLOAD_MAX_BYTES))),
      data(id, Buffer.of(1)),
    ],
    "it sent more than it had credit for",
  ],
  ["sends a second head", (id) => [head(id), head(id)], "it sent a second head"],
  ["grants more credit than there is", (id) => [encodeWindow(id, 1)], "it granted more credit than a window"],
  [
    "grants credit that overflows",
    (id) => [encodeWindow(id, 0xffff_ffff)],
    "it granted more credit than a window",
  ],
  [
    "grants credit that is no number",
    (id) => [encodeFrame(frameTypes.window, id, Buffer.of(1, 2))],
    "it sent a credit that is not a number",
  ],
  ["opens a stream itself", (id) => [encodeJson(frameTypes.open, id, {})], "it sent a frame of type 2"],
  ["says hello again", () => [encodeHello(randomBytes(16))], "it used stream 0, which is not open"],
  ["answers a ping that nobody sent", () => [encodeFrame(frameTypes.ping, 0)], "it answered no ping of ours"],
  [
    "ends an operation with something that is no JSON object",
    (id) => [encodeFrame(frameTypes.close, id, Buffer.from("[1]"))],
    "a control payload is not a JSON object",
  ],
  [
    "gives a reason that is no JSON object",
    (id) => [encodeFrame(frameTypes.reset, id, Buffer.from("why not"))],
    "a control payload is not a JSON object",
  ],
];

test.each(violations)(
  "a guest that %s loses its channel, and every operation says why",
  async (_what, attack, why) => {
    const stream = channel.open(READ);
    const { id } = await peer.opened();
    const other = channel.open(READ);
    await peer.send(...attack(id));
    const closed = await channel.closed;
    expect(closed.message).toContain("the guest's agent broke the protocol: ");
    expect(closed.message).toContain(why);
    await expect(other.result()).rejects.toBe(closed);
    while ((await stream.read()) !== undefined);
    expect(() => channel.open(READ)).toThrow(closed);
    await peer.closed;
  },
);

test("a channel that QEMU closes ends every operation with that reason", async () => {
  const stream = channel.open(READ);
  const head = stream.head();
  peer.hangUp();
  await expect(stream.result()).rejects.toThrow("the guest's channel was closed");
  await expect(head).resolves.toBeUndefined();
  await expect(stream.read()).resolves.toBeUndefined();
  await stream.write(Buffer.alloc(10 * MIB)); // returns, although nobody gives credit any more
  stream.end();
  stream.cancel();
});

test("a sandbox runs 256 operations at once, says that it is busy to one more, and takes it when one has ended", async () => {
  const streams = Array.from({ length: SANDBOX_MAX_STREAMS }, () => channel.open(READ));
  expect(() => channel.open(READ)).toThrow(expect.objectContaining({ code: "sandbox_busy", retryAfterS: 1 }));
  const { id } = await peer.opened();
  await peer.close(id, {});
  await streams[0]?.result();
  expect(channel.open(READ).id).toBe(SANDBOX_MAX_STREAMS + 1);
});

test("a request that one frame does not hold is announced, and comes in parts that cost no credit", async () => {
  const operation = { op: "write", path: `/${"x".repeat(REQUEST_MAX_BYTES - 100)}`, mode: 0o644 } as const;
  const stream = channel.open(operation);
  const { id, operation: announced } = await peer.opened();
  const request = JSON.stringify(operation);
  expect(announced).toEqual({ op: "long", bytes: request.length });
  const written = stream.write(Buffer.alloc(WINDOW_BYTES, "d"));
  const parts: Buffer[] = [];
  for (let bytes = 0; bytes < request.length + WINDOW_BYTES; bytes += parts.at(-1)?.length ?? 0) {
    const frame = await peer.next("data");
    expect(frame.stream).toBe(id);
    parts.push(frame.payload);
  }
  await written;
  expect(Buffer.concat(parts).toString() === request + "d".repeat(WINDOW_BYTES)).toBe(true);
});

test("an agent of an earlier version refuses what it cannot take, and its user is told why", async () => {
  const command = { command: "x".repeat(PAYLOAD_MAX_BYTES), env: {}, timeout_ms: 1_000 };
  const { stream } = startExecute(channel, { ...command, stdin: false, output_limit: 1 });
  const { id } = await peer.opened();
  await peer.send(
    encodeJson(frameTypes.reset, id, { code: "bad_request", message: "there is no such operation" }),
  );
  await expect(exitOf(stream)).rejects.toMatchObject({ code: "vm_outdated" });
});

test("a request that is too long is refused before anything is sent, and the channel lives", async () => {
  const operation = { op: "read", path: "x".repeat(REQUEST_MAX_BYTES) } as const;
  expect(() => channel.open(operation)).toThrow(expect.objectContaining({ code: "payload_too_large" }));
  const stream = channel.open(READ);
  await peer.close((await peer.opened()).id, { fine: true });
  await expect(stream.result()).resolves.toEqual({ fine: true });
});

test("a canceled operation drops what still comes, and its stream is free once the guest has ended it", async () => {
  const stream = channel.open(READ);
  const { id } = await peer.opened();
  stream.cancel();
  expect((await peer.next("reset")).stream).toBe(id);
  await peer.send(
    data(id, Buffer.alloc(50_000)),
    encodeJson(frameTypes.reset, id, { code: "canceled", message: "m" }),
  );
  await expect(stream.result()).rejects.toMatchObject({ code: "canceled" });
  await expect(stream.read()).resolves.toBeUndefined();
});

test("a guest that goes on sending what was canceled comes to the end of its credit", async () => {
  const stream = channel.open(READ);
  const { id } = await peer.opened();
  await peer.send(data(id, Buffer.alloc(PAYLOAD_MAX_BYTES)));
  await stream.read();
  stream.cancel();
  await peer.next("reset");
  for (let sent = 0; sent < 2 * WINDOW_BYTES; sent += 512) await peer.send(data(id, Buffer.alloc(512)));
  await expect(channel.closed).resolves.toMatchObject({
    message: expect.stringContaining("more than it had credit for") as string,
  });
});

test("a guest that sends padding is read slowly, and what it says behind it arrives all the same", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const before = vi.getTimerCount();
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const stream = channel.open({ op: "write", path: "/f", mode: 0o644 });
  let arrived = false;
  const result = stream.result().finally(() => (arrived = true));
  const sent = peer.send(Buffer.alloc(8 * MIB), encodeJson(frameTypes.close, 1, { size: 7 }));
  while (!arrived && vi.getTimerCount() === before) await turn();
  expect(arrived).toBe(false);
  while (!arrived) {
    vi.advanceTimersByTime(10_000);
    await turn();
  }
  await expect(result).resolves.toEqual({ size: 7 });
  await sent;
});

test("a guest that reads nothing, but claims that everything is done, is dropped once a bounded amount waits for it", async () => {
  peer.pause();
  const request = { op: "read", path: "x".repeat(60_000) } as const;
  const run = async (): Promise<never> => {
    for (let id = 1; ; id += 1) {
      const stream = channel.open(request);
      await peer.close(id, {});
      await stream.result();
      expect(id * 60_000).toBeLessThan(128 * MIB);
    }
  };
  await expect(run()).rejects.toThrow("the guest's agent does not read");
});
