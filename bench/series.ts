// Samples as they come in. An attempt that fails is counted with its reason and never dropped: leaving it out would make every figure
// better than what a user meets.

import type { Measure } from "./results.ts";

const REASON_MAX_CHARS = 200;

export class Series {
  readonly #shape: Pick<Measure, "what" | "unit" | "bar">;
  readonly #samples: number[] = [];
  readonly #failures: string[] = [];
  readonly #at: { axis: string; line: string; values: number[] } | undefined;

  /** With an axis the samples are drawn as a curve over it, and each needs its place. */
  constructor(shape: Pick<Measure, "what" | "unit" | "bar"> & { axis?: string; line?: string }) {
    const { axis, line, ...rest } = shape;
    this.#shape = rest;
    if (axis !== undefined) this.#at = { axis, line: line ?? rest.what, values: [] };
  }

  get count(): number {
    return this.#samples.length;
  }

  get samples(): readonly number[] {
    return this.#samples;
  }

  get measure(): Measure {
    return {
      ...this.#shape,
      samples: this.#samples,
      failures: this.#failures,
      ...(this.#at === undefined ? {} : { at: this.#at }),
    };
  }

  add(sample: number, place = 0): void {
    this.#samples.push(sample);
    this.#at?.values.push(place);
  }

  fail(error: unknown): void {
    this.#failures.push((error instanceof Error ? error.message : String(error)).slice(0, REASON_MAX_CHARS));
  }

  /** Adds how long the work took, in ms; undefined where it failed. */
  async time<T>(work: () => Promise<T>, place = 0): Promise<T | undefined> {
    const startedMs = performance.now();
    try {
      const result = await work();
      this.add(performance.now() - startedMs, place);
      return result;
    } catch (error) {
      this.fail(error);
      return undefined;
    }
  }
}

/** One attempt that gives a sample to each series. When it throws, those that have none yet have failed. */
export async function attempt(series: readonly Series[], work: () => Promise<void>): Promise<void> {
  const before = series.map(({ count }) => count);
  try {
    await work();
  } catch (error) {
    for (const [index, one] of series.entries()) if (one.count === before[index]) one.fail(error);
  }
}

/** Runs the work for each item, so many at a time. */
export async function inParallel<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = items.values();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const item of queue) await work(item);
    }),
  );
}

export function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}
