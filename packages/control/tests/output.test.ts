import fc from "fast-check";
import { expect, test } from "vitest";
import { FIRST_BLOCK_BYTES, OutputBudget } from "../src/vms/execute/output-budget.ts";
import { OutputCollector } from "../src/vms/execute/output.ts";

const MIB = 1024 * 1024;
const PLENTY = 1_000 * MIB;
const LIMIT_BYTES = 10 * MIB;

const ownBudget = (sharedBytes = PLENTY, firstBlocksBytes = 0) =>
  new OutputBudget({ sharedBytes, firstBlocksBytes });

/** Collectors of an organization, filled with this much each, until there is no room for another one. */
function hoard(budget: OutputBudget, orgId: string, bytesEach = LIMIT_BYTES): OutputCollector[] {
  const held: OutputCollector[] = [];
  for (;;) {
    const collector = new OutputCollector(LIMIT_BYTES, { budget, orgId });
    try {
      collector.push(Buffer.alloc(bytesEach));
    } catch {
      collector[Symbol.dispose]();
      return held;
    }
    held.push(collector);
  }
}

async function allOf(pieces: AsyncIterable<string>): Promise<string[]> {
  const all: string[] = [];
  for await (const piece of pieces) all.push(piece);
  return all;
}

test("collected output is what came, in order, up to the limit, however it was cut", async () => {
  const property = fc.asyncProperty(
    fc.array(fc.uint8Array({ maxLength: 100_000 }), { maxLength: 8 }),
    async (pieces) => {
      using collector = new OutputCollector(150_000, { budget: ownBudget(), orgId: "org" });
      for (const piece of pieces) collector.push(Buffer.from(piece));
      const whole = Buffer.concat(pieces);
      expect(collector.toString("base64")).toBe(whole.subarray(0, 150_000).toString("base64"));
      for (const encoding of ["utf8", "base64"] as const) {
        const cut = await allOf(collector.pieces(encoding, async () => undefined));
        expect(cut.join("")).toBe(collector.toString(encoding));
      }
      expect(collector.truncated).toBe(whole.length > 150_000);
    },
  );
  await fc.assert(property, { numRuns: 30 });
});

test("a million single bytes cost no more than a million bytes", () => {
  using collector = new OutputCollector(1_000_000, { budget: ownBudget(), orgId: "org" });
  const before = process.memoryUsage().arrayBuffers;
  for (let index = 0; index < 1_000_000; index += 1) collector.push(Buffer.from([index & 0x7f]));
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(50_000_000);
  expect(collector.toString("utf8")).toHaveLength(1_000_000);
});

test("output takes at most twice its size of the budget, and gives all of it back", () => {
  const budget = ownBudget(3 * 2 * MIB);
  for (let round = 0; round < 3; round += 1) {
    const collector = new OutputCollector(LIMIT_BYTES, { budget, orgId: "org" });
    collector.push(Buffer.alloc(MIB));
    expect(() => collector.push(Buffer.alloc(4 * MIB))).toThrow("share of the memory");
    collector[Symbol.dispose]();
    collector[Symbol.dispose]();
  }
});

test("whatever one organization holds, the next one gets a large output too, and a tenth one a small", () => {
  const budget = ownBudget(224 * MIB, 16 * MIB);
  const held = hoard(budget, "org_greedy");
  // It is not bounded to a tenth or so where it is alone.
  expect(held.length).toBeGreaterThanOrEqual(7);
  using neighbour = new OutputCollector(LIMIT_BYTES, { budget, orgId: "org_neighbour" });
  neighbour.push(Buffer.alloc(LIMIT_BYTES));
  for (let number = 0; number < 8; number += 1) hoard(budget, `org_greedy_${number}`, MIB);
  using tenth = new OutputCollector(LIMIT_BYTES, { budget, orgId: "org_tenth" });
  tenth.push(Buffer.alloc(64 * 1024));
});

test("an organization whose share is used up still collects short outputs, and so do a thousand others", () => {
  const budget = ownBudget(4 * MIB, 16 * MIB);
  for (const orgId of ["org_a", "org_b", "org_c", "org_d"]) hoard(budget, orgId, 1);
  for (let number = 0; number < 1_000; number += 1) {
    for (const _stream of ["stdout", "stderr"]) {
      new OutputCollector(LIMIT_BYTES, { budget, orgId: `org_${number}` }).push(Buffer.from("hi\n"));
    }
  }
});

test("what ends gives its share back to all", () => {
  const budget = ownBudget(30 * MIB, FIRST_BLOCK_BYTES);
  const held = hoard(budget, "org_a");
  expect(held).toHaveLength(1);
  using other = new OutputCollector(LIMIT_BYTES, { budget, orgId: "org_b" });
  expect(() => other.push(Buffer.alloc(LIMIT_BYTES))).toThrow("share of the memory");
  other[Symbol.dispose]();
  for (const collector of held) collector[Symbol.dispose]();
  other.push(Buffer.alloc(LIMIT_BYTES));
  expect(other.bytes).toBe(LIMIT_BYTES);
});
