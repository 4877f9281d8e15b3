import fc from "fast-check";
import { expect, test } from "vitest";
import { OutputBudget, OutputCollector } from "../src/services/output.ts";

test("collected output is what came, in order, up to the limit, however it was cut", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 40_000 }), { maxLength: 8 }), (pieces) => {
      using collector = new OutputCollector(50_000, new OutputBudget(50_000));
      for (const piece of pieces) collector.push(Buffer.from(piece));
      const whole = Buffer.concat(pieces);
      expect(collector.toString("base64")).toBe(whole.subarray(0, 50_000).toString("base64"));
      for (const encoding of ["utf8", "base64"] as const) {
        expect([...collector.pieces(encoding)].join("")).toBe(collector.toString(encoding));
      }
      expect(collector.truncated).toBe(whole.length > 50_000);
    }),
    { numRuns: 30 },
  );
});

test("a million single bytes cost no more than a million bytes", () => {
  using collector = new OutputCollector(1_000_000, new OutputBudget(1_000_000));
  const before = process.memoryUsage().arrayBuffers;
  for (let index = 0; index < 1_000_000; index += 1) collector.push(Buffer.from([index & 0x7f]));
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(50_000_000);
  expect(collector.toString("utf8")).toHaveLength(1_000_000);
});

test("all collectors together stay within one budget, and what ends gives its share back", () => {
  const budget = new OutputBudget(100_000);
  const first = new OutputCollector(90_000, budget);
  first.push(Buffer.alloc(90_000));
  const second = new OutputCollector(90_000, budget);
  expect(() => second.push(Buffer.alloc(90_000))).toThrow("Too much output");
  first[Symbol.dispose]();
  second.push(Buffer.alloc(90_000));
  second[Symbol.dispose]();
  expect(() => budget.take(100_001)).toThrow("Too much output");
  expect(() => budget.take(100_000)).not.toThrow();
});
