// All of a saved guest's memory in one file, which has to be what the guest would see on its own host.

import { mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { pagesFileMaxBytes, wholeMemory } from "../src/move/whole-memory.ts";
import { memoryIn, pagesFile, PAGE_BYTES } from "./support/memory-pages.ts";

const PAGES = 600;

let folder: string;
let base: string;
let pages: string;

beforeEach(async () => {
  folder = await mkdtemp("/tmp/skerry-unit-memory-");
  base = join(folder, "base");
  pages = join(folder, "pages");
});

afterEach(() => rm(folder, { recursive: true }));

async function collected(): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of await wholeMemory(pages, base)) parts.push(part);
  return Buffer.concat(parts);
}

/** Memory in which page N holds this byte, and all others zero. */
function memoryWith(byPage: ReadonlyMap<number, number>): Buffer {
  const memory = Buffer.alloc(PAGES * PAGE_BYTES);
  for (const [page, byte] of byPage) memory.fill(byte, page * PAGE_BYTES, (page + 1) * PAGE_BYTES);
  return memory;
}

const someBytes = fc.array(fc.tuple(fc.nat(PAGES - 1), fc.nat(255)), { maxLength: 40 });
const someRuns = fc.uniqueArray(
  fc.record({ page: fc.nat(PAGES - 1), pages: fc.integer({ min: 1, max: 20 }), byte: fc.nat(255) }),
  { maxLength: 20, selector: ({ page }) => page },
);

test("it is the template's memory under the pages that the guest has changed, whatever they are", async () => {
  await fc.assert(
    fc.asyncProperty(someBytes, someRuns, async (inBase, changes) => {
      const memory = memoryWith(new Map(inBase));
      await writeFile(base, memory);
      const runs: { memoryAt: number; bytes: Buffer }[] = [];
      let end = 0;
      for (const { page, pages: count, byte } of changes.toSorted((a, b) => a.page - b.page)) {
        const from = Math.max(end, page);
        const to = Math.min(PAGES, from + count);
        if (from >= to) continue;
        runs.push({ memoryAt: from * PAGE_BYTES, bytes: Buffer.alloc((to - from) * PAGE_BYTES, byte) });
        memory.fill(byte, from * PAGE_BYTES, to * PAGE_BYTES);
        end = to;
      }
      await writeFile(pages, pagesFile(memory.length, runs));
      const whole = await collected();
      expect(memoryIn(whole).equals(memory)).toBe(true);
      expect(whole.length).toBeLessThanOrEqual(pagesFileMaxBytes(memory.length));
    }),
    { numRuns: 60 },
  );
});

test("pages of zeros are left out", async () => {
  await writeFile(base, memoryWith(new Map([[3, 7]])));
  await writeFile(pages, pagesFile(PAGES * PAGE_BYTES, [{ memoryAt: 0, bytes: Buffer.alloc(PAGE_BYTES) }]));
  expect(await collected()).toHaveLength(2 * PAGE_BYTES);
});

test.each<[string, (file: Buffer) => Buffer]>([
  ["is no such file", (file) => Buffer.from(file).fill("X", 0, 1)],
  ["ends too early", (file) => file.subarray(0, file.length - 1)],
  ["is of a guest with other memory", (file) => Buffer.from(file).fill(0, 8, 16)],
  ["lies outside of the memory", (file) => Buffer.from(file).fill(255, 28, 29)],
])("a file of pages that %s is refused", async (_what, change) => {
  await writeFile(base, memoryWith(new Map()));
  const file = pagesFile(PAGES * PAGE_BYTES, [{ memoryAt: PAGE_BYTES, bytes: Buffer.alloc(PAGE_BYTES, 1) }]);
  await writeFile(pages, change(file));
  await expect(collected()).rejects.toThrow();
});

test("what is without data in the template's memory is read as zeros", async () => {
  await using sparse = await open(base, "w");
  await sparse.truncate(PAGES * PAGE_BYTES);
  await writeFile(pages, pagesFile(PAGES * PAGE_BYTES, []));
  expect(await collected()).toHaveLength(PAGE_BYTES);
});
