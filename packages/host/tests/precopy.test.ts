import { expect, test } from "vitest";
import { Precopy } from "../src/vm/qemu/precopy.ts";

const GIB = 1024 ** 3;

/** After each pass, how much is left of 16 GiB; says after which pass the guest is paused. */
function pausedAfter(passes: readonly number[], msPerPass: number): number | undefined {
  const precopy = new Precopy(0);
  const found = passes.findIndex((remaining, index) =>
    precopy.isFutile({ remaining, total: 16 * GIB, "dirty-sync-count": index + 1 }, index * msPerPass),
  );
  return found === -1 ? undefined : found + 1;
}

test("a large guest runs on for as long as each pass leaves less", () => {
  expect(pausedAfter([16 * GIB, 4 * GIB, GIB, GIB / 4, GIB / 16], 20_000)).toBeUndefined();
});

test("a guest that writes as fast as its memory is sent is paused after the second pass that leads nowhere", () => {
  expect(pausedAfter([16 * GIB, 8 * GIB, 7.9 * GIB, 8 * GIB, 8 * GIB], 5_000)).toBe(4);
  expect(pausedAfter([16 * GIB, 8 * GIB, 7.9 * GIB, 4 * GIB, 3.9 * GIB, 3.9 * GIB], 5_000)).toBe(6);
});

test("looking twice within one pass is no second pass", () => {
  const precopy = new Precopy(0);
  for (let look = 0; look < 100; look += 1)
    expect(precopy.isFutile({ remaining: GIB, total: GIB, "dirty-sync-count": 1 }, look)).toBe(false);
});

test("no guest is sent for ever: 10 s, and 5 s for each GB of its memory", () => {
  const precopy = new Precopy(1_000);
  const ram = { remaining: 1_000, total: 2_000_000_000, "dirty-sync-count": 1 };
  expect(precopy.isFutile(ram, 20_999)).toBe(false);
  expect(precopy.isFutile(ram, 21_001)).toBe(true);
});

test("before QEMU has said anything the guest runs on", () => {
  expect(new Precopy(0).isFutile(undefined, 9_999)).toBe(false);
});
