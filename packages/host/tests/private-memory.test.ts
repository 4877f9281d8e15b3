import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, open, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runProgram } from "../src/system/run.ts";
import { buildNative, type Native } from "./support/native.ts";

const DEADLINE_MS = 60_000;

// QEMU is dynamically linked, opens the file read-write and maps it privately; so does this.
const PROBE = String.raw`
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    int fds[2] = {open(argv[i], O_RDWR), open64(argv[i], O_RDWR | O_CREAT, 0600)};
    for (int j = 0; j < 2; j++) {
      int mode = fcntl(fds[j], F_GETFL) & O_ACCMODE;
      char *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fds[j], 0);
      if (map != MAP_FAILED) map[0] = 'X';
      int cut = fallocate(fds[j], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 2048, 1024);
      printf("%s %s %s %s\n", mode == O_RDONLY ? "read-only" : "read-write",
             map == MAP_FAILED ? "unmapped" : map[0] == 'X' && map[1] == 'b' ? "private" : "wrong",
             pwrite(fds[j], "W", 1, 2) == 1 ? "written" : "refused", cut == 0 ? "cut" : "whole");
    }
  }
}
`;

let native: Native;
let folder: string;
beforeAll(async () => {
  native = await buildNative();
  folder = await mkdtemp("/tmp/skerry-unit-memory-");
  const source = join(folder, "probe.c");
  await writeFile(source, PROBE);
  await runProgram("gcc", ["-o", join(folder, "probe"), source], { deadlineMs: DEADLINE_MS });
});
afterAll(async () => {
  await native[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

async function probe(
  env: Record<string, string>,
): Promise<{ memory: string[]; other: string[]; left: string }> {
  const [memory, other] = [join(folder, "memory"), join(folder, "memory.other")];
  for (const file of [memory, other]) await writeFile(file, "abcd".repeat(1_024));
  const output = await runProgram(join(folder, "probe"), [memory, other], { deadlineMs: DEADLINE_MS, env });
  const lines = output.trim().split("\n");
  return {
    memory: lines.slice(0, 2),
    other: lines.slice(2),
    left: await readFile(memory, "utf8"),
  };
}

test("the memory file is opened read-only, is mapped writable in private, and can neither be written to nor cut", async () => {
  const env = { LD_PRELOAD: native.privateMemory, SKERRY_PRIVATE_MEMORY: join(folder, "memory") };
  const seen = await probe(env);
  expect(seen.memory).toEqual(["read-only private refused cut", "read-only private refused cut"]);
  expect(seen.left).toBe("abcd".repeat(1_024));
});

test("every other file is opened as it was asked for", async () => {
  const env = { LD_PRELOAD: native.privateMemory, SKERRY_PRIVATE_MEMORY: join(folder, "memory") };
  expect((await probe(env)).other).toEqual([
    "read-write private written cut",
    "read-write private written cut",
  ]);
});

test("without a named file nothing changes", async () => {
  const seen = await probe({ LD_PRELOAD: native.privateMemory });
  expect(seen.memory).toEqual(["read-write private written cut", "read-write private written cut"]);
});

// A guest's memory in small: it maps the file as QEMU does with share=on, says what it sees in each page, and then changes some.
const GUEST = String.raw`
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv) {
  size_t size = strtoul(argv[2], NULL, 10);
  char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, open(argv[1], O_RDWR), 0);
  if (memory == MAP_FAILED) return 1;
  printf("%lu ", (unsigned long)memory);
  for (size_t at = 0; at < size; at += 4096) putchar(memory[at] ? memory[at] : '.');
  for (int i = 3; i < argc; i++) memory[strtoul(argv[i] + 1, NULL, 10) * 4096] = argv[i][0];
  putchar('\n');
  fflush(stdout);
  pause();
}
`;
const PAGE = 4096;
const PAGES = 64;

interface Grown extends AsyncDisposable {
  /** What each page held before it changed any. */
  readonly saw: string;
  /** Writes what it has changed. */
  changed(file: string): Promise<void>;
}

async function grow(base: string, from: string | undefined, ...changes: readonly string[]): Promise<Grown> {
  const pages = from === undefined ? undefined : await open(from, "r");
  const child = spawn(join(folder, "guest"), [base, String(PAGES * PAGE), ...changes], {
    stdio: ["ignore", "pipe", "inherit", ...(pages === undefined ? [] : [pages.fd])],
    env: {
      ...{ LD_PRELOAD: native.privateMemory, SKERRY_PRIVATE_MEMORY: base },
      ...(pages === undefined ? {} : { SKERRY_MEMORY_PAGES: "3" }),
    },
  });
  await pages?.close();
  const [said] = (await once(child.stdout as Readable, "data")) as [Buffer];
  const [address = "", saw = ""] = said.toString().trim().split(" ");
  return {
    saw,
    async changed(file) {
      const args = [child.pid, address, PAGES * PAGE, base, file].map(String);
      await runProgram(native.changedPages, args, { deadlineMs: DEADLINE_MS });
    },
    async [Symbol.asyncDispose]() {
      const ended = once(child, "exit");
      child.kill();
      await ended;
    },
  };
}

async function baseFile(name: string, text: string | undefined): Promise<string> {
  const base = join(folder, name);
  await writeFile(base, text === undefined ? "" : text.repeat(PAGES * PAGE));
  await truncate(base, PAGES * PAGE);
  return base;
}

test.each([
  ["a template's memory", "t", "t"],
  ["a file that holds no data", undefined, "."],
])(
  "what a guest over %s has changed is written, and another one starts with it",
  async (_name, text, unset) => {
    await writeFile(join(folder, "guest.c"), GUEST);
    await runProgram("gcc", ["-o", join(folder, "guest"), join(folder, "guest.c")], {
      deadlineMs: DEADLINE_MS,
    });
    const base = await baseFile(`base-${unset}`, text);
    const file = (name: string): string => join(folder, `${name}-${unset}`);
    const with_ = (changes: Record<number, string>): string =>
      Array.from({ length: PAGES }, (_page, at) => changes[at] ?? unset).join("");

    await using first = await grow(base, undefined, "a0", "b40", "c63");
    expect(first.saw).toBe(with_({}));
    await first.changed(file("one"));
    // Three runs of a page each, behind a page that says where they are.
    expect((await stat(file("one"))).size).toBe(4 * PAGE);

    // The second one changes what the first had, and more; a page that it leaves alone is its own all the same.
    await using second = await grow(base, file("one"), "B40", "d20");
    expect(second.saw).toBe(with_({ 0: "a", 40: "b", 63: "c" }));
    await second.changed(file("two"));
    await rm(file("one"));
    await using third = await grow(base, file("two"));
    expect(third.saw).toBe(with_({ 0: "a", 20: "d", 40: "B", 63: "c" }));
    // Nobody has written to what all start from.
    expect((await readFile(base)).every((byte) => byte === (text ?? "\0").charCodeAt(0))).toBe(true);
  },
);

test("what is as it was at first is not written, also where it filled a gap before", async () => {
  const base = await baseFile("base-same", "t");
  const pagesOf = async (guest: Grown, name: string): Promise<number> => {
    await guest.changed(join(folder, name));
    return (await stat(join(folder, name))).size / PAGE - 1;
  };
  await using first = await grow(base, undefined, "a0", "b5", "t40");
  expect(await pagesOf(first, "same-one")).toBe(6);
  await using second = await grow(base, join(folder, "same-one"), "c13");
  expect(await pagesOf(second, "same-two")).toBe(14);
  await using third = await grow(base, join(folder, "same-two"), "t13");
  expect(await pagesOf(third, "same-three")).toBe(6);
  await using fourth = await grow(base, join(folder, "same-three"));
  expect(fourth.saw).toBe(`attttb${"t".repeat(PAGES - 6)}`);
});

test("pages that lie outside of the memory, or are another guest's, end the one that would start with them", async () => {
  const base = await baseFile("base-short", "t");
  await using guest = await grow(base, undefined, "a0");
  await guest.changed(join(folder, "good"));
  const good = await readFile(join(folder, "good"));
  for (const [name, at, value] of [
    ["size", 8, BigInt(2 * PAGES * PAGE)],
    ["place", 24, BigInt(PAGES * PAGE)],
    ["length", 32, BigInt((PAGES + 1) * PAGE)],
  ] as const) {
    const bad = Buffer.from(good);
    bad.writeBigUInt64LE(value, at);
    await writeFile(join(folder, name), bad);
    const pages = await open(join(folder, name), "r");
    const child = spawn(join(folder, "guest"), [base, String(PAGES * PAGE)], {
      stdio: ["ignore", "ignore", "ignore", pages.fd],
      env: { LD_PRELOAD: native.privateMemory, SKERRY_PRIVATE_MEMORY: base, SKERRY_MEMORY_PAGES: "3" },
    });
    expect(await once(child, "exit")).toEqual([1, null]);
    await pages.close();
  }
});
