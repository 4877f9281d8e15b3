import { expect, test } from "vitest";
import { formatTiming, parseTiming } from "../src/server-timing.ts";

test("what is told is read back, in the order in which it happened", () => {
  const header = formatTiming({ start: 11.94, place: 2.4449, freeze: 7_012 });
  expect(header).toBe("place;dur=2.4, freeze;dur=7012, start;dur=11.9");
  expect(parseTiming(header)).toEqual({ place: 2.4, freeze: 7_012, start: 11.9 });
  expect(formatTiming({})).toBe("");
});

test("what is no phase of ours, no number, or far too long tells nothing", () => {
  const strange = [
    undefined,
    null,
    "",
    "cdn-cache;desc=HIT, constructor;dur=1, __proto__;dur=2",
    "start",
    "start;dur=-1",
    "start;dur=1e99",
    "start;dur=99999999999",
    `${"x".repeat(2_000)}, start;dur=1`,
  ];
  for (const header of strange) expect(parseTiming(header)).toEqual({});
  expect(parseTiming("cache;dur=1,start;dur=3 , place;dur=x")).toEqual({ start: 3 });
});
