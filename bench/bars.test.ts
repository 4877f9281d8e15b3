import { expect, test } from "vitest";
import { judge } from "./bars.ts";
import type { Measure } from "./results.ts";

const measured = (bar: string, samples: readonly number[], more: Partial<Measure> = {}): Measure => ({
  what: "create, pool warm",
  unit: "ms",
  samples,
  bar,
  ...more,
});

test("a bar with two conditions is met only when both are", () => {
  const bar = "median ≤ 40, p99 ≤ 120";
  expect(judge(measured(bar, [30, 31, 119]), [])).toMatchObject({ met: true });
  expect(judge(measured(bar, [30, 31, 121]), [])).toMatchObject({ met: false });
  expect(judge(measured(bar, [41, 42, 43]), [])).toMatchObject({ met: false });
});

test("without a statistic every sample counts", () => {
  expect(judge(measured("≤ 150", [10, 151]), [])).toMatchObject({ met: false, found: "max 151 ms" });
  expect(judge(measured("≥ 15,000", [14_999, 20_000]), [])).toMatchObject({ met: false });
});

test("a bar may be a multiple of another measure, whose name may hold commas", () => {
  const podman = measured("–", [200, 300, 400], { what: "`podman run`, warm" });
  const bar = "median ≤ 0.5 × `podman run`, warm, max ≤ 2 × its median";
  expect(judge(measured(bar, [140, 145, 150]), [podman])).toMatchObject({ met: true });
  expect(judge(measured(bar, [140, 145, 300]), [podman])).toMatchObject({ met: false });
  expect(judge(measured(bar, [151, 152, 153]), [podman])).toMatchObject({ met: false });
});

test("one failed attempt is enough to miss a bar", () => {
  const measure = measured("median ≤ 40", [1, 2, 3], { failures: ["no capacity"] });
  expect(judge(measure, [])).toEqual({ met: false, found: "median 2 ms, 1 failed" });
});

test("a measure without any sample meets nothing", () => {
  expect(judge(measured("median ≤ 40", []), [])).toMatchObject({ met: false });
  expect(judge(measured("median ≥ 40", []), [])).toMatchObject({ met: false });
});

test("a bar that is misspelt, or compares with nothing, is not met", () => {
  expect(judge(measured("as fast as it goes", [1]), [])).toMatchObject({ met: false });
  expect(judge(measured("p98 ≤ 3", [1]), [])).toMatchObject({ met: false });
  expect(judge(measured("median ≤ 1 × `podman run`", [1]), [])).toMatchObject({ met: false });
});

test("there is no verdict without a bar", () => {
  expect(judge(measured("–", [1]), [])).toBeUndefined();
});

test("where the other side was skipped, a bar can still be missed but not met", () => {
  const skipped = measured("–", [], { what: "podman", skipped: "podman is not installed" });
  const bar = "median ≤ 10, median ≤ 0.5 × podman";
  expect(judge(measured(bar, [1]), [skipped])).toEqual({
    met: undefined,
    found: "median 1 ms, the other was skipped",
  });
  expect(judge(measured(bar, [11]), [skipped])).toMatchObject({ met: false });
});
