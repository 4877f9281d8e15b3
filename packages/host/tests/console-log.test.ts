// The program that keeps consoles and the reader of what it keeps, against each other.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, open, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { timedPieces } from "@skerry/contract/host-api/timed-console";
import { KeptLogs } from "../src/vm/qemu/kept-logs.ts";
import { consoleLogEnd, readConsole, type ConsoleQuery } from "../src/vm/qemu/console-log.ts";
import { buildNative, type Native } from "./support/native.ts";

const UID = 1_899_999_007;
const MIB = 1024 * 1024;
const RING_BYTES = 8 * MIB;
/** With its header and its times. */
const FILE_BYTES = 4_096 + RING_BYTES + MIB;

let native: Native;
let folder: string;
let file: string;
const writers: ChildProcess[] = [];

beforeAll(async () => {
  native = await buildNative();
});
afterAll(() => native[Symbol.asyncDispose]());
beforeEach(async () => {
  folder = await mkdtemp("/tmp/skerry-unit-console-");
  file = join(folder, "console.log");
  await writeFile(file, "", { mode: 0o600 });
});
afterEach(async () => {
  for (const writer of writers.splice(0)) writer.kill("SIGKILL");
  await rm(folder, { recursive: true });
});

/** A console-log with the file, as launch.c starts one; its input is the console. */
async function startWriter(): Promise<ChildProcess> {
  const handle = await open(file, "r+");
  const child = spawn(native.consoleLog, [String(UID)], { stdio: ["pipe", handle.fd, "ignore"] });
  await once(child, "spawn");
  await handle.close();
  writers.push(child);
  return child;
}

/** What one QEMU says from its start to its end. */
async function say(...parts: readonly (string | Buffer)[]): Promise<void> {
  const writer = await startWriter();
  const exited = once(writer, "exit");
  for (const part of parts) writer.stdin?.write(part);
  writer.stdin?.end();
  await exited;
}

async function read(query: Partial<ConsoleQuery>): Promise<Buffer> {
  const pieces: Buffer[] = [];
  const { signal } = new AbortController();
  for await (const piece of readConsole(file, { lines: 10_000, follow: false, ...query }, signal))
    pieces.push(piece.bytes);
  return Buffer.concat(pieces);
}

const text = async (query: Partial<ConsoleQuery>): Promise<string> => (await read(query)).toString("latin1");

test.each([
  ["none", 0, ""],
  ["one", 1, "four"],
  ["two", 2, "three\nfour"],
  ["four", 4, "one\ntwo\nthree\nfour"],
  ["more than there are", 9, "one\ntwo\nthree\nfour"],
])("of the last lines one gets as many as one asks for: %s", async (_what, lines, expected) => {
  await say("one\ntwo\nthree\nfour");
  expect(await text({ lines })).toBe(expected);
  await say("\n");
  expect(await text({ lines })).toBe(lines === 0 ? "" : `${expected}\n`);
});

test("a console where nothing was said yet, or where there is no log but other bytes, is empty", async () => {
  expect(await text({})).toBe("");
  await writeFile(file, Buffer.alloc(64, 0xff));
  expect(await text({})).toBe("");
});

test("the log goes on where the machine's run before left it, byte for byte", async () => {
  const bytes = Buffer.from([0, 255, 254, 0x1b, 0x5b, 0x32, 0x4a, 10, 13, 0xc3, 0x28]);
  await say("first\n", bytes);
  await say("second\n");
  expect(await read({})).toEqual(Buffer.concat([Buffer.from("first\n"), bytes, Buffer.from("second\n")]));
  expect(await consoleLogEnd(file)).toBe("second\n");
});

test("a flood leaves its end, in a file that does not grow", async () => {
  const line = Buffer.from(`${"x".repeat(1_023)}\n`);
  const flood = Buffer.concat(Array.from({ length: 1_024 }, () => line));
  await say(...Array.from({ length: 20 }, () => flood), "the end\n");
  expect((await stat(file)).size).toBeLessThanOrEqual(FILE_BYTES);
  expect(await text({ lines: 1 })).toBe("the end\n");
  const all = await read({ lines: 10_000 });
  expect(all.length).toBeGreaterThan(RING_BYTES - MIB);
  expect(all.subarray(-1_032).toString()).toBe(`${line.toString()}the end\n`);
});

test("a line without an end is cut to what is kept, and memory has pieces of it only", async () => {
  await say(...Array.from({ length: 10 }, () => Buffer.alloc(MIB, "y")));
  let total = 0;
  for await (const piece of readConsole(file, { lines: 1, follow: false }, AbortSignal.timeout(30_000))) {
    expect(piece.bytes.length).toBeLessThanOrEqual(64 * 1024);
    total += piece.bytes.length;
  }
  expect(total).toBeGreaterThan(RING_BYTES - MIB);
  expect(total).toBeLessThanOrEqual(RING_BYTES);
});

test("who follows hears what comes, over the end of a run and the begin of the next, until the file is removed", async () => {
  await say("before\n");
  const heard: string[] = [];
  const following = (async () => {
    for await (const piece of readConsole(file, { lines: 1, follow: true }, AbortSignal.timeout(30_000)))
      heard.push(piece.bytes.toString());
  })();
  const until = async (expected: string): Promise<void> => {
    for (let attempt = 0; heard.join("") !== expected && attempt < 500; attempt += 1) await sleep(20);
    expect(heard.join("")).toBe(expected);
  };
  await until("before\n");
  await say("one\n");
  await say("two\n");
  await until("before\none\ntwo\n");
  await rm(file);
  await following;
  await writeFile(file, "");
});

test("who follows may go away", async () => {
  const gone = new AbortController();
  const following = (async () => {
    for await (const _piece of readConsole(file, { lines: 1, follow: true }, gone.signal)) continue;
  })();
  gone.abort();
  await following;
});

test("who keeps the console is the VM's user, and nobody of that user can look into it", async () => {
  const writer = await startWriter();
  writer.stdin?.write("here\n");
  for (let attempt = 0; (await text({})) !== "here\n" && attempt < 500; attempt += 1) await sleep(10);
  const status = await readFile(`/proc/${writer.pid}/status`, "utf8");
  expect(status).toMatch(new RegExp(`^Uid:(\t${UID}){4}$`, "m"));
  expect(status).toMatch(/^NoNewPrivs:\t1$/m);
  expect(status).toMatch(/^CapEff:\t0+$/m);
  // Of a process that cannot be dumped or traced, /proc is root's.
  expect((await stat(`/proc/${writer.pid}/mem`)).uid).toBe(0);
});

async function timed(): Promise<(readonly [string, number | undefined])[]> {
  const pieces: (readonly [string, number | undefined])[] = [];
  for await (const { bytes, atMs } of readConsole(
    file,
    { lines: 10_000, follow: false },
    AbortSignal.timeout(30_000),
  ))
    if (bytes.length > 0) pieces.push([bytes.toString("latin1"), atMs]);
  return pieces;
}

test("what came at one time is a piece with that time, over the end of a run", async () => {
  const beforeMs = Date.now();
  const writer = await startWriter();
  writer.stdin?.write("one\n");
  await sleep(300);
  writer.stdin?.write("two\n");
  await sleep(300);
  writer.stdin?.end("three\n");
  await once(writer, "exit");
  await say("four\n");
  const pieces = await timed();
  expect(pieces.map(([text]) => text)).toEqual(["one\n", "two\n", "three\n", "four\n"]);
  const times = pieces.map(([, atMs = 0]) => atMs);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(times[0]).toBeGreaterThanOrEqual(beforeMs);
  expect(times.at(-1)).toBeLessThanOrEqual(Date.now());
});

test("what a version without times has written has none, and what comes after it has", async () => {
  await say("old\n");
  // Its header ended before the count of times.
  const handle = await open(file, "r+");
  await handle.write(Buffer.alloc(8), 0, 8, 40);
  await handle.close();
  expect(await timed()).toEqual([["old\n", undefined]]);
  await say("new\n");
  expect(await timed()).toEqual([
    ["old\n", undefined],
    ["new\n", expect.any(Number) as number],
  ]);
});

async function placed(query: Partial<ConsoleQuery>): Promise<(readonly [string, number])[]> {
  const pieces: (readonly [string, number])[] = [];
  const { signal } = new AbortController();
  for await (const piece of readConsole(file, { lines: 10_000, follow: false, ...query }, signal))
    pieces.push([piece.bytes.toString("latin1"), piece.position]);
  return pieces;
}

test("a reader that knows a position goes on there, over ends of runs", async () => {
  await say("one\n");
  await say("two\n");
  expect(await placed({})).toEqual([
    ["", 0],
    ["one\n", 0],
    ["two\n", 4],
  ]);
  expect(await placed({ from: 6 })).toEqual([
    ["", 6],
    ["o\n", 6],
  ]);
  expect(await placed({ from: 8 })).toEqual([["", 8]]);
  // It is of another console.
  expect((await placed({ from: 9 })).map(([text]) => text).join("")).toBe("one\ntwo\n");
  expect(await placed({ lines: 0 })).toEqual([["", 8]]);
});

test("a position that was overwritten is the oldest that is there", async () => {
  const flood = Buffer.alloc(MIB, `${"x".repeat(1_023)}\n`);
  await say(...Array.from({ length: 12 }, () => flood), "end\n");
  const [first] = await placed({ from: 100 });
  expect(first?.[1]).toBeGreaterThan(12 * MIB + 4 - RING_BYTES);
  expect(first?.[1]).toBeLessThan(12 * MIB + 4 - RING_BYTES + MIB);
  const all = await placed({ from: 100 });
  expect(all.at(-1)?.[0].endsWith("end\n")).toBe(true);
});

test("times are bounded, and the newest are kept", async () => {
  await say("before\n");
  const handle = await open(file, "r+");
  // As if it had noted times for days.
  const count = Buffer.alloc(8);
  count.writeBigUInt64LE(200_000n);
  await handle.write(count, 0, 8, 40);
  await handle.close();
  await say("after\n");
  expect((await stat(file)).size).toBeLessThanOrEqual(FILE_BYTES);
  expect((await timed()).at(-1)).toEqual(["after\n", expect.any(Number) as number]);
});

test("a log that is kept has what the console had, outlives it, and the oldest of a group goes first", async () => {
  const kept = new KeptLogs(join(folder, "kept"));
  const log = (vm: string, group = "org_1") => ({ group, vm: `mch_${vm}` });
  const positions: number[] = [];
  const read = async (vm: string, group?: string): Promise<string> => {
    positions.length = 0;
    const parts: Buffer[] = [];
    for await (const { bytes, atMs, position = -1 } of timedPieces(await kept.read(log(vm, group)))) {
      positions.push(position);
      if (bytes.length === 0) continue;
      expect(atMs).toBeGreaterThan(1_700_000_000_000);
      parts.push(bytes);
    }
    return Buffer.concat(parts).toString("latin1");
  };
  await say("one\ntwo\n");
  await kept.keep(file, log("a"));
  await kept.keep(file, log("a", "org_2"));
  expect(await read("a")).toBe("one\ntwo\n");
  expect(positions).toEqual([0, 0]);
  await expect(kept.read(log("b"))).rejects.toMatchObject({ code: "vm_not_found" });
  await say(Buffer.alloc(6 * 1024 * 1024, "x".repeat(99) + "\n"));
  for (let at = 0; at < 17; at += 1) await kept.keep(file, log(`more${at}`));
  await kept.keep(file, log("e"));
  expect((await read("e")).length).toBeGreaterThan(3 * 1024 * 1024);
  expect((await read("e")).length).toBeLessThanOrEqual(4 * 1024 * 1024);
  // The beginning is left out, and the rest has the positions that it had.
  expect(positions[0]).toBeGreaterThan(2 * 1024 * 1024);
  await expect(kept.read(log("a"))).rejects.toMatchObject({ code: "vm_not_found" });
  expect(await read("a", "org_2")).toBe("one\ntwo\n");
});
