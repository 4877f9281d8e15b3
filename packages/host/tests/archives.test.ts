// Archives between a host and a guest, honest or not.

import { encodeFrame, encodeJson, frameTypes } from "@skerry/contract/frames";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { packDirectory, unpackArchive } from "../src/guest/archives.ts";
import type { GuestChannel } from "../src/guest/channel.ts";
import { FakeGuest, type Peer } from "./support/fake-guest.ts";

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

const stays = new AbortController().signal;

async function* pieces(...texts: string[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text);
}

test("an archive comes in pieces, and one that fails in the middle ends with its error", async () => {
  const packing = packDirectory(channel, "/d", stays);
  const { id, operation } = await peer.opened();
  expect(operation).toEqual({ op: "pack", path: "/d" });
  await peer.send(encodeFrame(frameTypes.data, id, Buffer.from("first")));
  const archive = await packing;
  expect((await archive.next()).value?.toString()).toBe("first");
  await peer.send(encodeJson(frameTypes.reset, id, { code: "tar_failed" }));
  await expect(archive.next()).rejects.toMatchObject({ code: "archive_refused" });
});

test("what cannot be packed is refused before the first byte", async () => {
  const packing = packDirectory(channel, "/none", stays);
  packing.catch(() => undefined); // awaited below
  await peer.send(encodeJson(frameTypes.reset, (await peer.opened()).id, { code: "not_found" }));
  await expect(packing).rejects.toMatchObject({ code: "file_not_found" });
});

test("an archive is sent whole, and the guest's word ends it", async () => {
  const unpacking = unpackArchive(channel, "/d", pieces("one", "two"));
  const { id } = await peer.opened();
  await peer.next("close");
  await peer.close(id, {});
  await unpacking;
  const refused = unpackArchive(channel, "/d", pieces("one"));
  refused.catch(() => undefined); // awaited below
  await peer.send(encodeJson(frameTypes.reset, (await peer.opened()).id, { code: "tar_missing" }));
  await expect(refused).rejects.toMatchObject({ code: "program_missing" });
});

test("an archive whose sender breaks off is canceled in the guest", async () => {
  const broken = (async function* () {
    yield Buffer.from("one");
    throw new Error("the sender has left");
  })();
  const unpacking = unpackArchive(channel, "/d", broken);
  unpacking.catch(() => undefined); // awaited below
  const { id } = await peer.opened();
  expect((await peer.next("reset")).stream).toBe(id);
  await expect(unpacking).rejects.toThrow("the sender has left");
});

test("a tar that stands still is canceled, and its VM goes on", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const packing = packDirectory(channel, "/d", stays);
  packing.catch(() => undefined); // awaited below
  const { id } = await peer.opened();
  vi.advanceTimersByTime(60_000);
  await peer.next("reset");
  await peer.send(encodeJson(frameTypes.reset, id, { code: "canceled" }));
  await expect(packing).rejects.toMatchObject({ code: "guest_timeout" });
  vi.advanceTimersByTime(60_000);
  const again = packDirectory(channel, "/d", stays);
  const { id: next } = await peer.opened();
  await peer.send(encodeFrame(frameTypes.data, next, Buffer.from("x")));
  expect((await (await again).next()).value?.toString()).toBe("x");
});

test("an archive whose reader leaves is canceled in the guest, also before its first piece", async () => {
  const leaving = new AbortController();
  const packing = packDirectory(channel, "/d", leaving.signal);
  packing.catch(() => undefined); // awaited below
  const { id } = await peer.opened();
  leaving.abort();
  expect((await peer.next("reset")).stream).toBe(id);
  await peer.send(encodeJson(frameTypes.reset, id, { code: "canceled" }));
  await expect(packing).rejects.toMatchObject({ code: "canceled" });
  const read = packDirectory(channel, "/d", stays);
  const { id: other } = await peer.opened();
  await peer.send(encodeFrame(frameTypes.data, other, Buffer.from("x")));
  const archive = await read;
  await archive.next();
  await archive.return();
  expect((await peer.next("reset")).stream).toBe(other);
});
