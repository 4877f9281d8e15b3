// From what was measured to a verdict.

import type { Figure, Finding } from "@skerry/contract/hosts/finding";

export type Judged = Omit<Finding, "section" | "check">;

export interface Bar {
  /** What the figure's statistic must not be above. */
  readonly most: number;
  readonly of: "median" | "p99" | "worst";
  /** What to do where it is. */
  readonly remedy: string;
  /** Whether the figure depends on how fast guests run: it is not judged where they are emulated. */
  readonly isSpeed: boolean;
}

/** A figure that misses its bar is a warning: VMs run all the same. Further figures are told and not judged. */
export function judge(
  [figure, ...others]: readonly [Figure, ...Figure[]],
  { most, of, remedy, isSpeed }: Bar,
  { isEmulated }: { readonly isEmulated: boolean },
): Judged {
  const value = figure[of];
  const shown = `${figure.what}: ${figure.samples > 1 ? `${of} ` : ""}${value} ${figure.unit}`.trimEnd();
  const figures = [figure, ...others];
  if (isSpeed && isEmulated)
    return { verdict: "ok", found: `${shown}, emulated: says nothing about KVM`, remedy: "", figures };
  // A figure without a sample has NaN, which meets nothing.
  if (value <= most) return { verdict: "ok", found: shown, remedy: "", figures };
  return { verdict: "warning", found: `${shown}, expected at most ${most}`, remedy, figures };
}

export const found = (text: string, figures: readonly Figure[] = []): Judged => ({
  ...{ verdict: "ok", found: text, remedy: "", figures: [...figures] },
});
export const failed = (text: string, remedy: string): Judged => ({
  ...{ verdict: "fault", found: text, remedy, figures: [] },
});
export const notTried = (why: string): Judged => ({
  ...{ verdict: "not_tried", found: why, remedy: "", figures: [] },
});
