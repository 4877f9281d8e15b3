// What a guest tells of its files, honest or not.

import { encodeFrame, encodeJson, frameTypes } from "@skerry/contract/frames";
import { FileInfo } from "@skerry/contract/vms/files";
import { Value } from "typebox/value";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { GuestChannel } from "../src/guest/channel.ts";
import { firstPiece, startRead, startWrite, writtenBytes } from "../src/guest/agent.ts";
import {
  listDirectory,
  makeDirectory,
  moveEntry,
  removeEntry,
  setMode,
  statEntry,
} from "../src/guest/entries.ts";
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

const honest = {
  name: "/x",
  size: 3,
  type: "file",
  mode: 0o4755,
  modified_ms: 0,
  owner: "root",
  group: "adm",
};
const stays = new AbortController().signal;

async function told<T>(asked: Promise<T>, ...lines: unknown[]): Promise<T> {
  asked.catch(() => undefined); // awaited by the test
  const { id } = await peer.opened();
  for (const line of lines) {
    const text = typeof line === "string" ? line : `${JSON.stringify(line)}\n`;
    await peer.send(encodeFrame(frameTypes.data, id, Buffer.from(text)));
  }
  await peer.close(id, {});
  return asked;
}

test("a file is what the guest says, at the path that was asked for", async () => {
  expect(await told(statEntry(channel, "/a/b/", false), honest)).toEqual({
    path: "/a/b",
    name: "b",
    size: 3,
    type: "file",
    modified: "1970-01-01T00:00:00.000Z",
    mode: "4755",
    owner: "root",
    group: "adm",
  });
  expect((await told(makeDirectory(channel, "/", 0o755), honest)).path).toBe("/");
  const moved = moveEntry(channel, { path: "/a", to: "/to", gone: stays });
  expect((await told(moved, honest)).path).toBe("/to");
});

test("a file with absurd values has the shape that the API promises all the same", async () => {
  const absurd = [-1, 1e300, 0.5, null, [], {}, "file", "\ud800", "x".repeat(5_000), true];
  for (const value of absurd) {
    const line = Object.fromEntries(
      [...Object.keys(honest), "target", "attributes"].map((field) => [field, value]),
    );
    const info = await told(setMode(channel, "/a", 0o600), line);
    expect(Value.Check(FileInfo, info)).toBe(true);
    expect(JSON.stringify(info).length).toBeLessThan(6_000);
    expect(info.path).toBe("/a");
  }
});

test("attributes are text, as many as a file can have, and a name of theirs changes no object", async () => {
  const hostile = '{"name":"/x","attributes":{"__proto__":"own","a":"b","n":1,"o":{},"l":["x"]}}\n';
  const { attributes } = await told(statEntry(channel, "/a", false), hostile);
  expect(Object.entries(attributes ?? {})).toEqual([
    ["__proto__", "own"],
    ["a", "b"],
  ]);
  const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`${at}`, ""]));
  const cut = await told(statEntry(channel, "/a", false), { ...honest, attributes: many });
  expect(Object.keys(cut.attributes ?? {}).length).toBeLessThan(700);
  for (const none of [{}, { a: 1 }, "x", null, ["x"]]) {
    const info = await told(statEntry(channel, "/a", false), { ...honest, attributes: none });
    expect(Value.Check(FileInfo, info)).toBe(true);
  }
});

test.each([
  ["nothing", []],
  ["two lines", [honest, honest]],
  ["no JSON", ["x\n"]],
  ["a line without an end", ["{".repeat(45_000), "{".repeat(45_000)]],
])("a guest that tells %s of a file is dropped", async (_what, lines) => {
  await expect(told(statEntry(channel, "/a", false), ...lines)).rejects.toMatchObject({
    code: "guest_failed",
  });
  expect((await channel.closed).message).toBe("the guest's agent sent an entry that is none");
});

test.each(["../x", "a/../../x", "/etc/passwd", "a//b", "", ".", 7])(
  "a guest whose list below a directory has the path %j is dropped",
  async (name) => {
    const listing = listDirectory(channel, { path: "/d", depth: 2 });
    await expect(told(listing, { ...honest, name })).rejects.toMatchObject({ code: "guest_failed" });
  },
);

test("a list below a directory has paths, and an agent of an earlier version is asked as ever", async () => {
  const listing = await told(listDirectory(channel, { path: "/d", depth: 2 }), { ...honest, name: "a/b" });
  expect(listing.entries).toMatchObject([{ name: "b", path: "a/b", mode: "4755" }]);
  const plain = listDirectory(channel, { path: "/d" });
  const { id, operation } = await peer.opened();
  expect(operation).toEqual({ op: "list", path: "/d", limit: 10_000 });
  await peer.send(
    encodeFrame(frameTypes.data, id, Buffer.from('{"name":"a","size":1,"type":"file","modified_ms":0}\n')),
  );
  await peer.close(id, { truncated: false });
  expect((await plain).entries).toEqual([
    { name: "a", size: 1, type: "file", modified: "1970-01-01T00:00:00.000Z" },
  ]);
});

test("an agent of an earlier version, and each refusal, has its code", async () => {
  for (const [code, expected] of [
    ["bad_request", "vm_outdated"],
    ["not_empty", "directory_not_empty"],
    ["link_loop", "invalid_path"],
    ["into_itself", "invalid_path"],
    ["busy", "permission_denied"],
    ["something else", "guest_failed"],
  ]) {
    const asked = removeEntry(channel, { path: "/a", recursive: true, gone: stays });
    asked.catch(() => undefined); // awaited below
    await peer.send(encodeJson(frameTypes.reset, (await peer.opened()).id, { code, message: "x" }));
    await expect(asked).rejects.toMatchObject({ code: expected });
  }
});

test("a removal whose caller leaves is canceled", async () => {
  const leaving = new AbortController();
  const asked = removeEntry(channel, { path: "/a", recursive: true, gone: leaving.signal });
  asked.catch(() => undefined); // awaited below
  const { id } = await peer.opened();
  leaving.abort();
  expect((await peer.next("reset")).stream).toBe(id);
  await peer.send(encodeJson(frameTypes.reset, id, { code: "canceled" }));
  await expect(asked).rejects.toMatchObject({ code: "canceled" });
});

test("a tree that takes too long is left as it is, and only an agent that hangs is dropped", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const asked = removeEntry(channel, { path: "/a", recursive: true, gone: stays });
  asked.catch(() => undefined); // awaited below
  const { id } = await peer.opened();
  vi.advanceTimersByTime(110_000);
  await peer.next("reset");
  await peer.send(encodeJson(frameTypes.reset, id, { code: "canceled" }));
  await expect(asked).rejects.toMatchObject({ code: "guest_timeout" });
  const hanging = removeEntry(channel, { path: "/a", recursive: true, gone: stays });
  hanging.catch(() => undefined); // awaited below
  vi.advanceTimersByTime(140_000);
  await expect(hanging).rejects.toThrow("did not answer");
});

test.each([
  ["listed", 30_000, () => listDirectory(channel, { path: "/hangs" })],
  ["opened", 30_000, () => startRead(channel, "/hangs")],
  ["read", 60_000, () => firstPiece(channel, channel.open({ op: "read", path: "/hangs" }), 60_000)],
  ["written out", 30_000, () => writtenBytes(channel, startWrite(channel, "/hangs", 0o644))],
])("a file system that hangs when a file is %s ends no VM", async (_what, deadlineMs, ask) => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const asked: Promise<unknown> = ask();
  asked.catch(() => undefined); // awaited below
  const { id } = await peer.opened();
  vi.advanceTimersByTime(deadlineMs);
  await peer.next("reset");
  await peer.send(encodeJson(frameTypes.reset, id, { code: "canceled" }));
  await expect(asked).rejects.toMatchObject({ code: "guest_timeout" });
  // The channel is there for the next call.
  expect(await told(statEntry(channel, "/x", false), honest)).toMatchObject({ name: "x" });
});
