import { expect, test } from "vitest";
import { report } from "./report.ts";
import type { Measure, Results } from "./results.ts";

const measure = (more: Partial<Measure> = {}): Measure => ({
  what: "create",
  unit: "ms",
  samples: [10, 20, 30],
  bar: "median ≤ 15",
  ...more,
});

const results = (measures: readonly Measure[], failure?: string): Results => ({
  date: "2026-01-02T03:04:05.000Z",
  commit: "abc1234",
  quick: false,
  machine: ["2 × CPU"],
  settings: { SKERRY_WARM_MIN: "4" },
  chapters: [
    {
      name: "life",
      title: "A life",
      about: "One by one.",
      measures,
      ...(failure === undefined ? {} : { failure }),
    },
  ],
});

const page = (measures: readonly Measure[], previous?: Results): string =>
  report(results(measures), previous, "benchmarks");

test("a bar stands beside what was found", () => {
  expect(page([measure()])).toContain("| create | median ≤ 15 ms | median 20 ms | **not met** |");
  expect(page([measure({ samples: [1, 2, 3] })])).toContain(
    "| create | median ≤ 15 ms | median 2 ms | met |",
  );
});

test("failures are counted in their row, and told below it", () => {
  const text = page([measure({ failures: ["no room", "no room"] })]);
  expect(text).toContain("| create | ms | 3 | 2 | 20 | 30 | 30 | – |");
  expect(text).toContain("Failed: no room");
});

test("the last committed run is shown beside this one", () => {
  expect(page([measure()], results([measure({ samples: [7] })]))).toContain("| 20 | 30 | 30 | 7 |");
});

test("the p99 of a rate is its slow end", () => {
  expect(page([measure({ unit: "MB/s", bar: "–" })])).toContain(
    "| create | MB/s | 3 | 0 | 20 | 10 | 10 | – |",
  );
});

test("what was skipped or broken off says why", () => {
  expect(page([measure({ samples: [], bar: "–", skipped: "podman is not installed" })])).toContain(
    "Skipped: podman is not installed.",
  );
  const text = report(results([], "no host answered"), undefined, "benchmarks");
  expect(text).toContain("**It was broken off:** no host answered");
});

test("the figures of others are in a table of their own, with their source", () => {
  const [ours = "", others = ""] = page([measure()]).split("## What others publish");
  expect(ours).not.toContain("Daytona");
  for (const row of others.split("\n").filter((line) => /^\| [A-Z]/.test(line)))
    expect(row).toContain("https://");
});
