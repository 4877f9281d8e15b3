// What disks stand on, sent from one host to another: a host that lies about it, or a connection that breaks off, must leave nothing.

import { createHash } from "node:crypto";
import {
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  writeFile,
  type FileHandle,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { Layers } from "../src/vm/disk/layers.ts";
import { buildNative, type Native } from "./support/native.ts";

const BLOCK = 64 * 1024;
const SIZE = 64 * 1024 * 1024;
const MAX = 2 * SIZE;

let native: Native;
let folder: string;
let layers: Layers;

beforeAll(async () => {
  native = await buildNative();
});

afterAll(async () => {
  await native[Symbol.asyncDispose]();
});

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "skerry-layers-"));
  layers = new Layers(join(folder, "layers"), native.dataRanges);
});

afterEach(async () => {
  vi.restoreAllMocks();
  await rm(folder, { recursive: true, force: true });
});

/** 64 MiB with little in it, and an odd end. */
async function sparseFile(name: string): Promise<string> {
  const file = join(folder, name);
  await using handle = await open(file, "w");
  await handle.truncate(SIZE + 17);
  await handle.write("first", 0);
  await handle.write("across", 3 * BLOCK - 3);
  await handle.write(Buffer.alloc(BLOCK), 0, BLOCK, 100 * BLOCK);
  await handle.write("end", SIZE + 14);
  return file;
}

async function sha256(file: string): Promise<string> {
  return createHash("sha256")
    .update(await readFile(file))
    .digest("hex");
}

async function* changed(content: AsyncIterable<Buffer>, change: (part: Buffer, index: number) => Buffer) {
  let index = 0;
  for await (const part of content) {
    yield change(part, index);
    index += 1;
  }
}

test("a layer arrives byte for byte, and its holes cost nothing", async () => {
  const file = await sparseFile("disk");
  const digest = await layers.digestOf(file);
  const arrived = await layers.receive({ digest, maxBytes: MAX }, layers.read(file));
  expect(await sha256(arrived)).toBe(await sha256(file));
  expect((await stat(arrived)).blocks * 512).toBeLessThan(SIZE / 32);
  expect((await stat(arrived)).mode & 0o777).toBe(0o444);
  expect(await layers.find(digest, [])).toBe(arrived);
});

interface FileCalls {
  readonly sync: (this: FileHandle) => Promise<void>;
  readonly write: (
    this: FileHandle,
    ...call: [bytes: Uint8Array, offset: number, length: number, at: number]
  ) => Promise<unknown>;
}

/** The calls that all open files share. */
async function fileCalls(): Promise<FileCalls> {
  await using handle = await open(folder, "r");
  return Object.getPrototypeOf(handle) as FileCalls;
}

test("a layer is on the disk before it has its name, and its name before it is said to be here", async () => {
  const file = await sparseFile("disk");
  const digest = await layers.digestOf(file);
  const calls = await fileCalls();
  const { sync } = calls;
  const synced: { readonly what: string; readonly mode: number; readonly there: readonly string[] }[] = [];
  vi.spyOn(calls, "sync").mockImplementation(async function (this: FileHandle) {
    const what = basename(await readlink(`/proc/self/fd/${this.fd}`));
    const there = await readdir(join(folder, "layers"));
    synced.push({ what, mode: (await this.stat()).mode & 0o777, there });
    await sync.call(this);
  });
  await layers.receive({ digest, maxBytes: MAX }, layers.read(file));
  const [content, ...folders] = synced;
  expect(content?.what).toMatch(/\.part$/);
  expect(content?.mode).toBe(0o444);
  expect(content?.there).toEqual([content?.what]);
  expect(folders.map(({ what }) => what)).toEqual(["layers", basename(folder)]);
  expect(folders[0]?.there).toEqual([`${digest}.layer`]);
});

test("a layer of which the kernel takes a part at a time arrives byte for byte", async () => {
  const file = await sparseFile("disk");
  const digest = await layers.digestOf(file);
  const calls = await fileCalls();
  const { write } = calls;
  vi.spyOn(calls, "write").mockImplementation(function (this: FileHandle, ...call) {
    const [bytes, offset, length, at] = call;
    return write.call(this, bytes, offset, Math.min(length, 1000), at);
  });
  const arrived = await layers.receive({ digest, maxBytes: MAX }, layers.read(file));
  vi.restoreAllMocks();
  expect(await sha256(arrived)).toBe(await sha256(file));
});

test("the same content is the same layer, however its file came to be", async () => {
  const one = await sparseFile("one");
  const two = join(folder, "two");
  await writeFile(two, await readFile(one));
  expect(await layers.digestOf(two)).toBe(await layers.digestOf(one));
  expect(await layers.find(await layers.digestOf(one), [two])).toBe(two);
});

test("a file that another one has taken the place of is looked at again", async () => {
  const file = await sparseFile("disk");
  const before = await layers.digestOf(file);
  await rm(file);
  await writeFile(file, "another one");
  expect(await layers.digestOf(file)).not.toBe(before);
});

test("a layer that is here is not read again to know its digest, and a file elsewhere with such a name is", async () => {
  const file = await sparseFile("disk");
  const { digest } = await layers.keep(layers.read(file), MAX);
  const blind = new Layers(join(folder, "layers"), "/no/such/program");
  expect(await blind.digestOf(blind.pathOf(digest))).toBe(digest);
  const elsewhere = join(folder, `${"0".repeat(64)}.layer`);
  await rename(file, elsewhere);
  await expect(blind.digestOf(elsewhere)).rejects.toThrow();
  expect(await layers.digestOf(elsewhere)).toBe(digest);
});

test.each<[string, (part: Buffer, index: number) => Buffer]>([
  ["another byte", (part, index) => (index === 2 ? Buffer.from(part).fill(1, 9, 10) : part)],
  ["a block missing", (part, index) => (index === 1 || index === 2 ? Buffer.alloc(0) : part)],
  ["a block twice", (part, index) => (index === 3 ? Buffer.from([0, 0, 0, 0]) : part)],
  ["a block behind the end", (part, index) => (index === 3 ? Buffer.from([255, 255, 255, 255]) : part)],
  ["the end cut off", (part, index) => (index > 4 ? Buffer.alloc(0) : part.subarray(0, BLOCK - 1))],
  ["a size beyond measure", (part, index) => (index === 0 ? Buffer.alloc(8, 255) : part)],
])("a layer with %s is refused, and nothing of it stays", async (_what, change) => {
  const file = await sparseFile("disk");
  const digest = await layers.digestOf(file);
  await expect(
    layers.receive({ digest, maxBytes: MAX }, changed(layers.read(file), change)),
  ).rejects.toThrow();
  expect(await readdir(join(folder, "layers"))).toEqual([]);
  expect(await layers.find(digest, [])).toBeUndefined();
});

test("what no VM stands on, and what was cut off, is unused", async () => {
  await mkdir(join(folder, "layers"));
  const file = await sparseFile("disk");
  const kept = await layers.receive(
    { digest: await layers.digestOf(file), maxBytes: MAX },
    layers.read(file),
  );
  await writeFile(join(folder, "layers", "abandoned.part"), "");
  expect(await layers.unused(new Set([kept]))).toEqual([join(folder, "layers", "abandoned.part")]);
});
