import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { emptyMemory } from "../src/vm/qemu/empty-memory.ts";

test("VMs that begin at once share one file of their memory's size, which takes no room", async () => {
  const folder = await mkdtemp(join(tmpdir(), "skerry-empty-memory-"));
  try {
    const files = await Promise.all(Array.from({ length: 8 }, () => emptyMemory(folder, 256)));
    expect(new Set(files)).toEqual(new Set([join(folder, "256M")]));
    expect(await readdir(folder)).toEqual(["256M"]);
    const { size, blocks, mode } = await stat(join(folder, "256M"));
    expect([size, blocks, mode & 0o777]).toEqual([256 * 1024 ** 2, 0, 0o444]);
  } finally {
    await rm(folder, { recursive: true });
  }
});
