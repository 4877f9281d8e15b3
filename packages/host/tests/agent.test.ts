import { encodeFrame, encodeJson, frameTypes } from "@skerry/contract/frames";
import { LIST_MAX_ENTRIES } from "@skerry/contract/bounds";
import { ExecuteExit } from "@skerry/contract/vms/execute";
import { DirectoryListing } from "@skerry/contract/vms/files";
import { Value } from "typebox/value";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  exitOf,
  outputOf,
  clockAndEntropy,
  firstPiece,
  startExecute,
  startMain,
  startRead,
  startWrite,
  writtenBytes,
} from "../src/guest/agent.ts";
import { withDeadline } from "../src/guest/patience.ts";
import type { GuestChannel } from "../src/guest/channel.ts";
import { listDirectory } from "../src/guest/entries.ts";
import type { GuestStream } from "../src/guest/stream.ts";
import { FakeGuest, type Peer } from "./support/fake-guest.ts";

const COMMAND = { command: "true", env: {}, timeout_ms: 1_000, stdin: false, output_limit: 0 } as const;
const HONEST = {
  exit_code: 3,
  signal: 0,
  timed_out: false,
  oom_killed: false,
  truncated: true,
  duration_ms: 12,
  cpu_ms: 4,
  memory_peak_bytes: 1_000_000,
};

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

async function ends(result: unknown): Promise<ExecuteExit> {
  const { stream } = startExecute(channel, COMMAND);
  await peer.close((await peer.opened()).id, result);
  return exitOf(stream);
}

test("of what a command prints no more is kept than was asked for, whatever the guest sends", async () => {
  const printed = outputOf(channel, "cat log", { timeoutMs: 1_000, maxBytes: 10 });
  const { id } = await peer.opened();
  for (const part of ["abcdef", "ghijkl", "x".repeat(1_000)])
    await peer.send(encodeFrame(frameTypes.data, id, Buffer.from(part)));
  await peer.close(id, HONEST);
  expect(await printed).toBe("abcdefghij");
});

test("a command's end is told as the guest told it", async () => {
  await expect(ends(HONEST)).resolves.toEqual({
    exit_code: 3,
    duration_ms: 12,
    timed_out: false,
    signal: null,
    oom_killed: false,
    truncated: true,
    usage: { cpu_ms: 4, memory_peak_bytes: 1_000_000 },
  });
  await expect(ends({ ...HONEST, signal: 9 })).resolves.toMatchObject({ signal: "SIGKILL" });
  await expect(ends({ ...HONEST, signal: 4_711 })).resolves.toMatchObject({ signal: "signal 4711" });
});

test("a command's end with absurd values has the shape that the API promises all the same", async () => {
  const absurd = [-1, 1e300, -1e300, 0.5, "7", null, true, [], {}, "x".repeat(1_000)];
  for (const value of absurd) {
    const fields = Object.keys(HONEST).map((field) => [field, value] as const);
    const exit = await ends(Object.fromEntries(fields));
    expect(Value.Check(ExecuteExit, exit)).toBe(true);
    expect(exit.duration_ms).toBe(0);
    expect(exit.timed_out).toBe(value === true);
    expect(exit.usage).toEqual({ cpu_ms: 0, memory_peak_bytes: 0 });
  }
  expect(Value.Check(ExecuteExit, await ends({}))).toBe(true);
});

test("a main process is started when the guest says so, and its end, however absurd, is one that a kernel can tell of", async () => {
  for (const [told, expected] of [
    [
      { exit_code: 137, signal: 9, oom_killed: true },
      { exit_code: 137, signal: 9, oom_killed: true },
    ],
    [
      { exit_code: 1e15, signal: 1e300, oom_killed: "yes" },
      { exit_code: 255, signal: 0, oom_killed: false },
    ],
    [
      { exit_code: -1, signal: 4_000_000_000 },
      { exit_code: 0, signal: 64, oom_killed: false },
    ],
  ] as const) {
    const starting = startMain(channel, "serve");
    const { id, operation } = await peer.opened();
    expect(operation).toEqual({ op: "main", command: "serve", env: {} });
    await peer.send(encodeJson(frameTypes.head, id, {}));
    const { exit } = await starting;
    await peer.close(id, told);
    expect(await exit).toEqual(expected);
  }
});

test("a main process that the guest refuses to start, or to tell of, is an error", async () => {
  const refused = startMain(channel, "serve");
  refused.catch(() => undefined); // awaited below
  await peer.send(encodeJson(frameTypes.reset, (await peer.opened()).id, { code: "out_of_memory" }));
  await expect(refused).rejects.toMatchObject({ code: "guest_failed" });
  const starting = startMain(channel, "serve");
  await peer.send(encodeJson(frameTypes.head, (await peer.opened()).id, {}));
  const { exit } = await starting;
  channel.close("the guest is gone");
  await expect(exit).rejects.toThrow("the guest is gone");
});

test("numbers that JSON has no word for do not get through", async () => {
  const { stream } = startExecute(channel, COMMAND);
  const { id } = await peer.opened();
  await peer.send(encodeFrame(frameTypes.close, id, Buffer.from('{"exit_code":NaN}')));
  await expect(exitOf(stream)).rejects.toThrow("a control payload is not a JSON object");
});

test("a guest that is silent is dropped at the deadline, with everything that waits for it", async () => {
  const { stream, deadlineMs } = startExecute(channel, COMMAND);
  expect(deadlineMs).toBeGreaterThan(COMMAND.timeout_ms);
  const other = startRead(channel, "/f");
  other.catch(() => undefined); // awaited below
  const why = "the guest's agent did not answer within 50 ms";
  await expect(withDeadline(channel, 50, exitOf(stream))).rejects.toThrow(why);
  await expect(other).rejects.toThrow(why);
  await peer.closed;
});

test("a guest that answers in time keeps its channel", async () => {
  await expect(withDeadline(channel, 50, Promise.resolve(7))).resolves.toBe(7);
  await expect(withDeadline(channel, 50, Promise.reject(new Error("no")))).rejects.toThrow("no");
  await new Promise((resolve) => setTimeout(resolve, 100));
  await expect(ends(HONEST)).resolves.toMatchObject({ exit_code: 3 });
});

test.each([
  ["not_found", "file_not_found"],
  ["is_a_directory", "path_is_directory"],
  ["no_space", "disk_full"],
  ["too_many_streams", "sandbox_busy"],
  ["no such code", "guest_failed"],
  ["toString", "guest_failed"],
  [17, "guest_failed"],
])("a guest's refusal %j is the error %s, and the guest's own words stay inside", async (code, expected) => {
  const writing = startWrite(channel, "/f", 0o644);
  const { id } = await peer.opened();
  await peer.send(encodeJson(frameTypes.reset, id, { code, message: "<script>" }));
  const error: unknown = await writtenBytes(channel, writing).catch((failure: unknown) => failure);
  expect(error).toMatchObject({ code: expected });
  expect(JSON.stringify((error as { toBody(): unknown }).toBody())).not.toContain("script");
});

test("a download begins with the size that the guest names, and with 0 where that is no size", async () => {
  for (const [size, expected] of [
    [7, 7],
    [-7, 0],
    ["7", 0],
    [1e300, 0],
  ] as const) {
    const reading = startRead(channel, "/f");
    await peer.send(encodeJson(frameTypes.head, (await peer.opened()).id, { size }));
    expect((await reading).head).toEqual({ sizeBytes: expected });
  }
});

test("a download that the guest ends before it began is the guest's failure", async () => {
  const reading = startRead(channel, "/f");
  await peer.close((await peer.opened()).id, {});
  await expect(reading).rejects.toMatchObject({ code: "guest_failed" });
});

test("a file that cannot be read says so before its first byte, and an empty one has none", async () => {
  const opened = async (): Promise<{ id: number; stream: GuestStream }> => {
    const reading = startRead(channel, "/proc/1/mem");
    const { id } = await peer.opened();
    await peer.send(encodeJson(frameTypes.head, id, { size: 0 }));
    return { id, stream: (await reading).stream };
  };
  const [failing, empty, full] = [await opened(), await opened(), await opened()];
  await peer.send(encodeJson(frameTypes.reset, failing.id, { code: "io_error", message: "<script>" }));
  await expect(firstPiece(channel, failing.stream, 10_000)).rejects.toMatchObject({ code: "guest_failed" });
  await peer.close(empty.id, {});
  await expect(firstPiece(channel, empty.stream, 10_000)).resolves.toBeUndefined();
  await peer.send(encodeFrame(frameTypes.data, full.id, Buffer.from("first")));
  const piece = await firstPiece(channel, full.stream, 10_000);
  expect(piece?.bytes.toString()).toBe("first");
});

/** Answers a listing with these bytes, as fast as there is credit for them. */
async function lists(...chunks: (string | Buffer)[]): Promise<DirectoryListing> {
  const listing = listDirectory(channel, { path: "/d" });
  listing.catch(() => undefined); // awaited by the test
  const { id } = await peer.opened();
  for (const chunk of chunks) await peer.send(encodeFrame(frameTypes.data, id, Buffer.from(chunk)));
  await peer.close(id, { truncated: false });
  return listing;
}

const line = (fields: object): string => `${JSON.stringify(fields)}\n`;

test("a directory is listed with names of any characters, also where a chunk ends inside one", async () => {
  const bytes = Buffer.from(
    line({ name: "ä€😀\n\u0007", size: 3, type: "file", modified_ms: 1_700_000_000_123 }),
  );
  const chunks = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
  await expect(lists(...chunks)).resolves.toEqual({
    entries: [{ name: "ä€😀\n\u0007", size: 3, type: "file", modified: "2023-11-14T22:13:20.123Z" }],
    truncated: false,
  });
});

test("a listing with absurd values has the shape that the API promises all the same", async () => {
  const absurd = [-1, 1e300, 8.64e15 + 1, -8.64e15, 0.5, null, [], {}, "file", "\ud800"];
  const lines = absurd.map((value) => line({ name: value, size: value, type: value, modified_ms: value }));
  const listing = await lists(...lines, line({}));
  expect(listing.entries).toHaveLength(absurd.length + 1);
  expect(Value.Check(DirectoryListing, listing)).toBe(true);
  for (const { modified } of listing.entries) expect(modified).toMatch(/^\d{4}-\d\d-\d\dT/);
});

test.each([
  ["broken JSON", ["{}\n{\n"]],
  ["a list instead of an object", ["[]\n"]],
  ["an empty line", ["\n"]],
  ["a line longer than any entry", [Buffer.alloc(60_000, " ")]],
  [
    "more lines than were asked for",
    Array.from({ length: LIST_MAX_ENTRIES / 1_000 + 1 }, () => "{}\n".repeat(1_000)),
  ],
])("a listing with %s is refused, and the guest dropped", async (_what, chunks) => {
  await expect(lists(...chunks)).rejects.toMatchObject({ code: "guest_failed" });
  expect((await channel.closed).message).toBe("the guest's agent sent a list that is not one");
});

test("a listing of as many entries as there may be is taken", async () => {
  const chunks = Array.from({ length: LIST_MAX_ENTRIES / 1_000 }, () => "{}\n".repeat(1_000));
  expect((await lists(...chunks)).entries).toHaveLength(LIST_MAX_ENTRIES);
});

test("a guest is told the time that the machine shows, also after its clock was set", () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_600_000 });
  try {
    expect(clockAndEntropy().clock_us).toBe(Date.now() * 1_000);
  } finally {
    vi.useRealTimers();
  }
});
