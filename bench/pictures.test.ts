import { expect, test } from "vitest";
import { axisFor, linear } from "./axis.ts";
import { picturesOf } from "./pictures.ts";
import type { Measure } from "./results.ts";

const chapter = (measures: readonly Measure[]) => ({ name: "life", title: "A life", about: "", measures });
const measure = (more: Partial<Measure> = {}): Measure => ({
  what: "create",
  unit: "ms",
  samples: [5, 1, 4, 2, 3],
  bar: "–",
  ...more,
});

test("an axis begins and ends at a tick, and holds every value", () => {
  for (const values of [
    [3, 17],
    [0.2, 0.9],
    [101, 137],
    [40, 40],
    [0, 0],
    [2, 9_000],
    [5, 80],
  ]) {
    const { ticks, share } = axisFor(values, { fromZero: false });
    expect(share(ticks[0] ?? Number.NaN)).toBeCloseTo(0);
    expect(share(ticks.at(-1) ?? Number.NaN)).toBeCloseTo(1);
    expect(ticks.length).toBeGreaterThan(1);
    expect(ticks.length).toBeLessThan(14);
    for (const value of values) {
      expect(share(value)).toBeGreaterThanOrEqual(0);
      expect(share(value)).toBeLessThanOrEqual(1);
    }
  }
});

test("values that are far apart get a logarithmic axis", () => {
  const { share } = axisFor([1, 10_000], { fromZero: true });
  expect(share(100)).toBeCloseTo(0.5);
});

test("ticks are round numbers", () => {
  expect(linear(0, 100).ticks).toEqual([0, 20, 40, 60, 80, 100]);
});

test("a distribution ends below 100 % when attempts have failed", () => {
  const heights = (failures: readonly string[]): number => {
    const [picture] = picturesOf(chapter([measure({ failures })]), new Map());
    const line =
      /<path class="line c0" d="(M\d.*?L[^"]+)"/.exec(picture?.svg.split("n = 5").at(-1) ?? "")?.[1] ?? "";
    return Math.min(
      ...line
        .split(/[ML]/)
        .slice(1)
        .map((pixel) => Number(pixel.split(" ")[1])),
    );
  };
  expect(heights(["no", "no", "no", "no", "no"]) - heights([])).toBeCloseTo(140); // half of the plot's height
});

test("measures of one unit share a picture, and the last run lies dashed behind", () => {
  const other = measure({ what: "podman run" });
  const rate = measure({ what: "upload", unit: "MB/s" });
  const pictures = picturesOf(chapter([measure(), other, rate]), new Map([["create", measure()]]));
  expect(pictures.map(({ file }) => file)).toEqual(["life-ms.svg", "life-mb-s.svg"]);
  expect(pictures[0]?.svg).toContain("podman run: median 3 ms, n = 5");
  expect(pictures[0]?.svg).toContain("faint");
  expect(pictures[1]?.svg).not.toContain("line c0 faint");
});

test("samples with a place are a curve over it", () => {
  const at = { axis: "sandboxes", line: "create", values: [10, 10, 100, 100, 1_000] };
  const [picture] = picturesOf(chapter([measure({ at })]), new Map());
  expect(picture?.file).toBe("life-ms-sandboxes.svg");
  expect(picture?.svg.match(/<circle/g)).toHaveLength(5);
});

test("time goes by evenly, however early the first sample was", () => {
  const values = Array.from({ length: 20 }, (_, index) => index + 0.001);
  const at = { axis: "seconds", line: "create", values };
  const [picture] = picturesOf(chapter([measure({ samples: values, at })]), new Map());
  const xs = [...(picture?.svg.matchAll(/<circle[^>]* cx="([\d.]+)"/g) ?? [])].map((match) =>
    Number(match[1]),
  );
  expect((xs[10] ?? 0) - (xs[0] ?? 0)).toBeCloseTo((xs[19] ?? 0) - (xs[9] ?? 0), 0);
});

test("names cannot break the picture", () => {
  const [picture] = picturesOf(chapter([measure({ what: "a < b & `c`" })]), new Map());
  expect(picture?.svg).toContain("a &lt; b &amp; c:");
});
