// A watch of a guest's folder, honest or not.

import { encodeFrame, encodeJson, frameTypes } from "@skerry/contract/frames";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { GuestChannel } from "../src/guest/channel.ts";
import { GuestWatch } from "../src/guest/watch.ts";
import { FakeGuest, type Peer } from "./support/fake-guest.ts";

let guest: FakeGuest;
let channel: GuestChannel;
let peer: Peer;
beforeEach(async () => {
  guest = await FakeGuest.start();
  ({ channel, peer } = await guest.greeted());
});
afterEach(async () => {
  channel.close("the test is over");
  await guest[Symbol.asyncDispose]();
});

const line = (fields: object): string => `${JSON.stringify(fields)}\n`;
const START = line({ event: "start", name: "", type: "directory" });

async function opened(...texts: string[]): Promise<{ id: number; watching: Promise<GuestWatch> }> {
  const watching = GuestWatch.open(channel, "/d", true);
  watching.catch(() => undefined); // awaited by the test
  const { id, operation } = await peer.opened();
  expect(operation).toEqual({ op: "watch", path: "/d", recursive: true });
  for (const text of texts) await peer.send(encodeFrame(frameTypes.data, id, Buffer.from(text)));
  return { id, watching };
}

test("events come in order, also where a frame ends inside one", async () => {
  const text =
    START +
    line({ event: "create", name: "ä/b", type: "directory" }) +
    line({ event: "overflow", name: "", type: "x" });
  const { id, watching } = await opened(...Array.from(text, (one) => one));
  const watch = await watching;
  expect(await watch.read()).toEqual({ event: "create", path: "ä/b", type: "directory" });
  expect(await watch.read()).toEqual({ event: "overflow", path: "", type: "file" });
  await peer.close(id, { reason: "removed" });
  expect(await watch.read()).toBeUndefined();
  await watch.end();
});

test("a folder that cannot be watched is refused", async () => {
  const { id, watching } = await opened();
  await peer.send(encodeJson(frameTypes.reset, id, { code: "too_many_watches" }));
  await expect(watching).rejects.toMatchObject({ code: "too_many_watches" });
});

test.each([
  ["a beginning that is none", [line({ event: "create", name: "a", type: "file" })]],
  ["no event", [START, line({ event: "explode", name: "a", type: "file" })]],
  ["a path that climbs", [START, line({ event: "create", name: "a/../../b", type: "file" })]],
  ["an absolute path", [START, line({ event: "create", name: "/etc", type: "file" })]],
  ["a path that is too long", [START, line({ event: "create", name: "x".repeat(4_400), type: "file" })]],
  ["no path", [START, line({ event: "create", type: "file" })]],
  ["no JSON", [START, "x\n"]],
  ["a line without an end", [START, "x".repeat(33_000)]],
])("a guest that tells %s is dropped", async (_what, texts) => {
  const { watching } = await opened(...texts);
  await expect(watching.then((watch) => watch.read())).rejects.toMatchObject({ code: "guest_failed" });
  expect((await channel.closed).message).toContain("broke the protocol");
});

test("a reader that does not read holds no more than a window", async () => {
  const { id, watching } = await opened(START);
  const watch = await watching;
  const event = line({ event: "write", name: "a", type: "file" });
  const block = event.repeat(Math.floor(60_000 / event.length));
  // Four of them are within the credit; a guest that sends on breaks the protocol.
  for (let frame = 0; frame < 4; frame += 1)
    await peer.send(encodeFrame(frameTypes.data, id, Buffer.from(block)));
  expect(await watch.read()).toEqual({ event: "write", path: "a", type: "file" });
  await peer.send(encodeFrame(frameTypes.data, id, Buffer.from(block)));
  await peer.send(encodeFrame(frameTypes.data, id, Buffer.from(block)));
  expect((await channel.closed).message).toContain("more than it had credit for");
});
