import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runProgram } from "../src/run.ts";
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
