// The benchmark's measures as findings of a report.

import { figureOf, type Finding } from "@skerry/contract/hosts/finding";
import { judge, NO_BAR } from "../bench/bars.ts";
import type { Measure } from "../bench/results.ts";

const IS_RATE = new Set<Measure["unit"]>(["MB/s", "/s"]);
const SLOW =
  "Bars are for an idle machine: see what else runs here, and run `npm run bench` for a longer look.";
const FAILED = "See control.log and host.log below the state folder, and report it with this file.";

/** A missed bar is a warning where guests run on KVM, and nothing where they are emulated. A failed attempt is a fault everywhere. */
export function findingsOfMeasures(
  section: string,
  measures: readonly Measure[],
  { isEmulated }: { readonly isEmulated: boolean },
): Finding[] {
  return measures.map((measure): Finding => {
    const check = measure.what;
    if (measure.skipped !== undefined)
      return { section, check, verdict: "not_tried", found: measure.skipped, remedy: "", figures: [] };
    const { samples, unit, failures = [] } = measure;
    const [failure] = failures;
    if (samples.length === 0 || failure !== undefined) {
      const found = `${failures.length} attempts failed: ${failure ?? "there was no sample"}`;
      return { section, check, verdict: "fault", found, remedy: FAILED, figures: [] };
    }
    const figures = [figureOf(measure.what, unit, samples, { isRate: IS_RATE.has(unit) })];
    const verdict = judge(measure, measures);
    const shown = `median ${figures[0]?.median ?? "?"} ${unit}`;
    if (isEmulated)
      return { section, check, verdict: "ok", found: `${shown}, emulated`, remedy: "", figures };
    // Undefined where what it is compared with is not on this machine.
    if (verdict?.met !== false) return { section, check, verdict: "ok", found: shown, remedy: "", figures };
    const bar = measure.bar === NO_BAR ? "" : `, expected ${measure.bar}`;
    return { section, check, verdict: "warning", found: `${verdict.found}${bar}`, remedy: SLOW, figures };
  });
}
