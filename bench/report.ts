// Figures as a table: what was measured, how often, and how it came out.

export interface Measure {
  readonly what: string;
  readonly unit: "ms" | "MB/s" | "/s" | "MB" | "count";
  readonly samples: readonly number[];
  /** What it should reach, in words. */
  readonly bar: string;
}

/** Nearest-rank percentile of a non-empty list. */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

export function report(machine: readonly string[], measures: readonly Measure[]): string {
  const rows = measures.map(({ what, unit, samples, bar }) => {
    const digits = unit === "count" || unit === "/s" ? 0 : 1;
    // The worse end: of a time the long one, of a rate the slow one.
    const worst = unit.endsWith("/s") ? 0.01 : 0.99;
    const cells = [percentile(samples, 0.5), percentile(samples, worst)].map((value) =>
      value.toFixed(digits),
    );
    return `| ${what} | ${unit} | ${samples.length} | ${cells.join(" | ")} | ${bar} |`;
  });
  return [
    "# Benchmarks",
    "",
    "Written by `npm run bench -- --write`, which starts a platform of its own with the same command as a user, measures over HTTP",
    "through the published client, and stops it again. The p99 of a rate is its slow end.",
    "",
    "## The machine",
    "",
    ...machine.map((line) => `- ${line}`),
    "",
    "## Results",
    "",
    "| measure | unit | n | median | p99 | bar |",
    "| --- | --- | --- | --- | --- | --- |",
    ...rows,
    "",
  ].join("\n");
}
