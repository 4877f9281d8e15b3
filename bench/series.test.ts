import { expect, test } from "vitest";
import { attempt, inParallel, range, Series } from "./series.ts";

const series = () => new Series({ what: "create", unit: "ms", bar: "–" });

test("a failed attempt is counted for each figure that it did not give", async () => {
  const [created, answered] = [series(), series()];
  await attempt([created, answered], async () => {
    created.add(5);
    throw new Error("no answer");
  });
  expect(created.measure).toMatchObject({ samples: [5], failures: [] });
  expect(answered.measure).toMatchObject({ samples: [], failures: ["no answer"] });
});

test("what is timed and fails gives no sample", async () => {
  const created = series();
  expect(await created.time(() => Promise.reject(new Error("no capacity")))).toBeUndefined();
  expect(await created.time(() => Promise.resolve(3))).toBe(3);
  expect(created.measure.failures).toEqual(["no capacity"]);
  expect(created.count).toBe(1);
});

test("work runs for each item once, and never more at a time than said", async () => {
  const seen: number[] = [];
  let now = 0;
  let most = 0;
  await inParallel(range(20), 3, async (item) => {
    now += 1;
    most = Math.max(most, now);
    await Promise.resolve();
    now -= 1;
    seen.push(item);
  });
  expect(seen.toSorted((a, b) => a - b)).toEqual(range(20));
  expect(most).toBe(3);
});
