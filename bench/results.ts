// The results of a run.

export type Unit = "ms" | "µs" | "B" | "MB/s" | "/s" | "MB" | "MiB" | "%" | "×" | "count";

export interface Measure {
  readonly what: string;
  readonly unit: Unit;
  readonly samples: readonly number[];
  /** Why attempts gave no sample, one reason each. */
  readonly failures?: readonly string[];
  /** The bar that it should reach, in the words of bars.ts. */
  readonly bar: string;
  /**
   * The place of each sample on a curve. Without it the samples are a distribution. Measures with the same line
   * are drawn as one.
   */
  readonly at?: { readonly axis: string; readonly line: string; readonly values: readonly number[] };
  /** Why this was not measured at all. */
  readonly skipped?: string;
}

export interface ChapterResults {
  readonly name: string;
  readonly title: string;
  /** The exact procedure, for a reader who doubts. */
  readonly about: string;
  readonly measures: readonly Measure[];
  /** Why the chapter was broken off. */
  readonly failure?: string;
}

/** Everything of a run; this is what latest.json holds. */
export interface Results {
  readonly date: string;
  readonly commit: string;
  readonly quick: boolean;
  readonly machine: readonly string[];
  readonly settings: Readonly<Record<string, string>>;
  readonly chapters: readonly ChapterResults[];
}
