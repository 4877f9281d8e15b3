import type { Histogram } from "./families.ts";
import type { Outcome } from "./metrics.ts";

/** Does the work and observes how long it took, and whether it failed. */
export async function timed<Result>(histogram: Histogram, work: () => Promise<Result>): Promise<Result> {
  const startedMs = performance.now();
  const observe = (outcome: Outcome) => histogram.observe((performance.now() - startedMs) / 1_000, outcome);
  try {
    const result = await work();
    observe("ok");
    return result;
  } catch (error) {
    observe("error");
    throw error;
  }
}
