import { randomBytes } from "node:crypto";
import { encodeFrame, encodeHello, encodeJson, frameTypes, MAX_FRAME_BYTES } from "@skerry/contract/frames";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ChannelClosed, GuestChannel } from "../src/guest/channel.ts";
import { FakeGuest } from "./support/fake-guest.ts";

const DEADLINE_MS = 10_000;
/** For answers that never come. */
const SHORT_MS = 500;
const MIB = 1024 * 1024;

let guest: FakeGuest;
beforeEach(async () => {
  guest = await FakeGuest.start();
});
afterEach(() => guest[Symbol.asyncDispose]());

const connect = (deadlineMs = DEADLINE_MS, resync = false): Promise<GuestChannel> => {
  const connecting = GuestChannel.connect(guest.path, { resync, deadlineMs });
  connecting.catch(() => undefined); // awaited by the test
  return connecting;
};

test("a host that comes back skips what is left of the old conversation", async () => {
  const connecting = connect(DEADLINE_MS, true);
  const peer = await guest.peer();
  const half = encodeFrame(frameTypes.data, 7, Buffer.alloc(60_000, 1)).subarray(0, 30_000);
  const hello = peer.next("hello");
  await peer.send(half, Buffer.alloc(MAX_FRAME_BYTES), encodeHello(randomBytes(16)));
  const { payload } = await hello;
  await peer.send(encodeJson(frameTypes.close, 7, {}), encodeFrame(frameTypes.hello, 0, payload));
  const channel = await connecting;
  const stream = channel.open({ op: "shutdown" });
  await peer.close((await peer.opened()).id, {});
  await expect(stream.result()).resolves.toEqual({});
  channel.close("the test is over");
});

test("a host that comes back first ends whatever frame the last one left unfinished in the guest", async () => {
  const connecting = connect(DEADLINE_MS, true);
  const peer = await guest.peer();
  peer.interruptedIn(encodeFrame(frameTypes.data, 7, Buffer.alloc(65_536, 1)).subarray(0, 100));
  await peer.answerHello();
  (await connecting).close("the test is over");
});

test("an answer to hello that comes in single bytes, with the first frame right behind it, is understood", async () => {
  const connecting = connect();
  const peer = await guest.peer();
  const { payload } = await peer.next("hello");
  const ping = encodeFrame(frameTypes.ping, 0, Buffer.from("not a ping of the host"));
  for (const byte of Buffer.concat([encodeFrame(frameTypes.hello, 0, payload), ping])) {
    await peer.send(Buffer.of(byte));
  }
  // What stood behind the answer was read as a frame: this one breaks the protocol.
  const closed = await (await connecting).closed;
  expect(closed.message).toBe("the guest's agent broke the protocol: it answered no ping of ours");
});

test("a guest that never answers hello is given up at the deadline", async () => {
  await expect(connect(SHORT_MS)).rejects.toThrow(new ChannelClosed("the guest's agent does not answer"));
  await (
    await guest.peer()
  ).closed;
});

test("a guest that answers somebody else's hello is given up at the deadline", async () => {
  const connecting = connect(SHORT_MS);
  const peer = await guest.peer();
  await peer.send(encodeHello(randomBytes(16)));
  await expect(connecting).rejects.toThrow("the guest's agent does not answer");
  await peer.closed;
});

test("a guest that sends without end instead of answering hello is given up after a bounded number of bytes", async () => {
  const connecting = connect();
  const peer = await guest.peer();
  const garbage = randomBytes(MIB);
  for (let sent = 0; sent < 18; sent += 1) await peer.send(garbage);
  await expect(connecting).rejects.toThrow("the guest's agent sends, but never answers hello");
  await peer.closed;
});

test("a microVM that closes the channel during hello is reported, and the host lives on", async () => {
  const connecting = connect(DEADLINE_MS, true);
  const peer = await guest.peer();
  // With the host's bytes unread this reaches it as a reset connection.
  peer.pause();
  peer.hangUp();
  await expect(connecting).rejects.toThrow("the guest's channel was closed");
});

test("a microVM without a channel is reported at the deadline", async () => {
  const nowhere = GuestChannel.connect(`${guest.path}.not`, { resync: false, deadlineMs: SHORT_MS });
  await expect(nowhere).rejects.toThrow("the microVM does not offer its agent channel");
});
