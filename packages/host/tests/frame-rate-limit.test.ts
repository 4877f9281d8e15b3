import { expect, test } from "vitest";
import { FrameRateLimit } from "../src/guest/frame-rate-limit.ts";

test("a burst of small frames passes, a flood of them is held back to a steady rate", () => {
  const limit = new FrameRateLimit(0);
  for (let sent = 0; sent < 2_000; sent += 1) limit.count(1);
  expect(limit.pauseMs(0)).toBe(0);
  for (let sent = 0; sent < 20_000; sent += 1) limit.count(1);
  const pauseMs = limit.pauseMs(0);
  expect(pauseMs).toBe(1_000);
  expect(limit.pauseMs(pauseMs)).toBe(0);
});

test("padding passes in a burst, and is then held back to a steady rate", () => {
  const limit = new FrameRateLimit(0);
  limit.countPadding(1024 * 1024);
  expect(limit.pauseMs(0)).toBe(0);
  for (let sent = 0; sent < 64; sent += 1) limit.countPadding(32_768);
  const pauseMs = limit.pauseMs(0);
  expect(pauseMs).toBe(2_048);
  expect(limit.pauseMs(pauseMs)).toBe(0);
});

test("large frames are never held back", () => {
  const limit = new FrameRateLimit(0);
  for (let sent = 0; sent < 100_000; sent += 1) limit.count(32_768);
  expect(limit.pauseMs(0)).toBe(0);
});
