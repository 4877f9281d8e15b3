// What is said about a list of samples.

/** Nearest-rank percentile; NaN of an empty list. */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

export const statistics = {
  median: (samples) => percentile(samples, 0.5),
  mean: (samples) => samples.reduce((sum, sample) => sum + sample, 0) / samples.length,
  p95: (samples) => percentile(samples, 0.95),
  p99: (samples) => percentile(samples, 0.99),
  max: (samples) => percentile(samples, 1),
  min: (samples) => percentile(samples, 0),
} as const satisfies Record<string, (samples: readonly number[]) => number>;

export type Statistic = keyof typeof statistics;

export function isStatistic(word: string): word is Statistic {
  return Object.hasOwn(statistics, word);
}
