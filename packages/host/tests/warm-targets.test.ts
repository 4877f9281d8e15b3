import fc from "fast-check";
import { expect, test } from "vitest";
import { isShort } from "../src/vm/warm/warm-memory.ts";
import { BURST_MS, DEMAND_WINDOW_MS, warmTargets, type Demand } from "../src/vm/warm/warm-targets.ts";

const NOW_MS = 10_000_000;
const roomy = { max: 16, memoryMib: 100_000, count: 100 };

function demand(agesMs: readonly number[], min = 0, memoryMib = 256): Demand {
  const takenAtMs = agesMs.toSorted((a, b) => b - a).map((ageMs) => NOW_MS - ageMs);
  return { kind: { template: "base", size: `${memoryMib}`, memoryMib }, takenAtMs, min };
}

test("as many clones wait as were asked for at once lately, and no fewer than the minimum", () => {
  const burst = Array.from({ length: 7 }, (_, n) => 60_000 + n * 100);
  const slow = Array.from({ length: 7 }, (_, n) => n * BURST_MS);
  const old = burst.map((ageMs) => ageMs + DEMAND_WINDOW_MS);
  expect(warmTargets([demand(burst), demand(slow), demand(old), demand([], 2)], roomy, NOW_MS)).toEqual([
    7, 1, 0, 2,
  ]);
  expect(warmTargets([demand(Array.from({ length: 100 }, () => 1))], roomy, NOW_MS)).toEqual([16]);
});

test("where there is not enough memory for all, each kind has one before any has its second", () => {
  const burst = [1, 2, 3, 4];
  const limits = { ...roomy, memoryMib: 2_048 + 3 * 256 };
  expect(warmTargets([demand(burst), demand(burst, 0, 2_048), demand(burst)], limits, NOW_MS)).toEqual([
    2, 1, 1,
  ]);
  expect(warmTargets([demand([], 2)], { ...roomy, memoryMib: 0 }, NOW_MS)).toEqual([0]);
  expect(warmTargets([demand(burst), demand(burst)], { ...roomy, count: 3 }, NOW_MS)).toEqual([2, 1]);
});

test("whatever is asked for, no limit is exceeded and nothing waits that nobody wanted", () => {
  const demands = fc.array(
    fc
      .tuple(
        fc.array(fc.nat(2 * DEMAND_WINDOW_MS), { maxLength: 40 }),
        fc.nat(5),
        fc.constantFrom(256, 512, 2_048),
      )
      .map(([agesMs, min, memoryMib]) => demand(agesMs, min, memoryMib)),
    { maxLength: 6 },
  );
  const limits = fc.record({ max: fc.nat(20), memoryMib: fc.nat(10_000), count: fc.nat(30) });
  fc.assert(
    fc.property(demands, limits, (wanted, limit) => {
      const targets = warmTargets(wanted, limit, NOW_MS);
      const sum = (of: (index: number) => number) =>
        targets.reduce((total, _, index) => total + of(index), 0);
      expect(targets).toHaveLength(wanted.length);
      expect(sum((index) => targets[index] ?? 0)).toBeLessThanOrEqual(limit.count);
      expect(
        sum((index) => (targets[index] ?? 0) * (wanted[index]?.kind.memoryMib ?? 0)),
      ).toBeLessThanOrEqual(limit.memoryMib);
      for (const [index, { takenAtMs, min }] of wanted.entries()) {
        const recent = takenAtMs.filter((atMs) => NOW_MS - atMs < DEMAND_WINDOW_MS).length;
        expect(targets[index]).toBeLessThanOrEqual(Math.min(limit.max, Math.max(min, recent)));
      }
    }),
  );
});

test("memory is short when less than a tenth of it is available", () => {
  const meminfo = (availableKib: number) =>
    `MemTotal:       10000 kB\nMemFree:           10 kB\nMemAvailable:    ${availableKib} kB\n`;
  expect([999, 1_000, 5_000].map((kib) => isShort(meminfo(kib)))).toEqual([true, false, false]);
});
