// Networks, and whether some of them cover another one.

import { expect, test } from "vitest";
import { cidrOf, contains, covers, overlaps } from "@skerry/contract/cidrs";

const are = (...texts: readonly string[]) => texts.map(cidrOf);

test.each([
  [["10.1.0.0/16"], "10.1.2.0/24", true],
  [["10.1.2.0/24"], "10.1.2.0/24", true],
  [["10.1.2.0/25", "10.1.2.128/25"], "10.1.2.0/24", true],
  [["10.1.2.128/25", "10.1.2.64/26", "10.1.2.0/26"], "10.1.2.0/24", true],
  // A part that is missing, wherever it is.
  [["10.1.2.0/25"], "10.1.2.0/24", false],
  [["10.1.2.128/25"], "10.1.2.0/24", false],
  [["10.1.2.0/25", "10.1.2.192/26"], "10.1.2.0/24", false],
  [["10.1.2.0/32"], "10.1.2.0/31", false],
  [["128.0.0.0/1"], "0.0.0.0/0", false],
  [["0.0.0.0/1", "128.0.0.0/1"], "0.0.0.0/0", true],
  [["10.1.3.0/24"], "10.1.2.0/24", false],
  [[], "10.1.2.0/24", false],
] as const)("of %j and %s each address is covered: %s", (networks, inner, isCovered) => {
  expect(covers(are(...networks), cidrOf(inner))).toBe(isCovered);
});

test("a network contains smaller ones of its own addresses, and overlaps those and larger ones alone", () => {
  const [large, small, other] = are("10.0.0.0/8", "10.200.0.0/16", "11.0.0.0/16");
  if (large === undefined || small === undefined || other === undefined) throw new Error("no networks");
  expect([contains(large, small), contains(small, large), contains(large, other)]).toEqual([
    true,
    false,
    false,
  ]);
  expect([overlaps(large, small), overlaps(small, large), overlaps(small, other)]).toEqual([
    true,
    true,
    false,
  ]);
});
