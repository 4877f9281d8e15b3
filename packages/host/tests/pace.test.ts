import { expect, test } from "vitest";
import { Pace } from "../src/guest/pace.ts";

test("a burst of small frames passes, a flood of them is held back to a steady rate", () => {
  const pace = new Pace(0);
  for (let sent = 0; sent < 2_000; sent += 1) pace.count(1);
  expect(pace.pauseMs(0)).toBe(0);
  for (let sent = 0; sent < 20_000; sent += 1) pace.count(1);
  const pauseMs = pace.pauseMs(0);
  expect(pauseMs).toBe(1_000);
  expect(pace.pauseMs(pauseMs)).toBe(0);
});

test("padding passes in a burst, and is then held back to a steady rate", () => {
  const pace = new Pace(0);
  pace.countPadding(1024 * 1024);
  expect(pace.pauseMs(0)).toBe(0);
  for (let sent = 0; sent < 64; sent += 1) pace.countPadding(32_768);
  const pauseMs = pace.pauseMs(0);
  expect(pauseMs).toBe(2_048);
  expect(pace.pauseMs(pauseMs)).toBe(0);
});

test("large frames are never held back", () => {
  const pace = new Pace(0);
  for (let sent = 0; sent < 100_000; sent += 1) pace.count(32_768);
  expect(pace.pauseMs(0)).toBe(0);
});
