import { expect, test } from "vitest";
import { LongestOfMinute, observeLoopDelay } from "../src/metrics/loop-delay.ts";
import { Metrics } from "../src/metrics/metrics.ts";
import { parseExposition, valueOf } from "./support/exposition.ts";
import { startControl } from "./support/replica.ts";
import { eventually, World } from "./support/world.ts";

/** The value of its only series, or of the one with this suffix. */
function valueIn(family: Metrics["loopDelay"] | Metrics["loopDelayMax"], suffix = ""): number {
  return [...family.samples()].find((sample) => sample.suffix === suffix)?.value ?? 0;
}

test("a loop that stands still shows in the metrics with at least the time that was lost", async () => {
  const metrics = new Metrics();
  using _observing = observeLoopDelay(metrics);
  await eventually(() => valueIn(metrics.loopDelay, "_count") > 0, "it observes");
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
  await eventually(() => valueIn(metrics.loopDelayMax) >= 0.95, "it shows");
  expect(valueIn(metrics.loopDelay, "_sum")).toBeGreaterThanOrEqual(0.95);
});

test("the longest delay is that of the last minute", () => {
  const longest = new LongestOfMinute();
  expect(longest.with(0.1, 1_000)).toBe(0.1);
  expect(longest.with(3, 1_001)).toBe(3);
  expect(longest.with(2, 1_001)).toBe(3);
  expect(longest.with(1, 1_030)).toBe(3);
  expect(longest.with(0, 1_060)).toBe(3);
  expect(longest.with(0, 1_061)).toBe(1);
  expect(longest.with(0, 1_090)).toBe(0);
  expect(longest.with(0.5, 9_000)).toBe(0.5);
  expect(longest.with(0.25, 90_000)).toBe(0.25);
});

test("control observes its own loop", async () => {
  await using world = await World.open();
  await using control = await startControl(world);
  await eventually(async () => {
    const { text, headers } = await world.call("GET", "/metrics", { url: control.url });
    const found = parseExposition(text, headers.get("content-type") ?? "");
    expect(valueOf(found, "skerry_event_loop_delay_max_seconds")).toBeGreaterThanOrEqual(0);
    return valueOf(found, "skerry_event_loop_delay_seconds_count") > 0;
  }, "its delays are counted");
});
