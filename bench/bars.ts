// Bars as they are written in the table, and whether a run has met them. A bar is one or more conditions, joined by commas:
//
//   median ≤ 40, p99 ≤ 120          in the measure's own unit
//   ≤ 150                           every sample
//   median ≤ 0.5 × podman run       of another measure's median, in the same run
//   max ≤ 2 × its median
//   none fails
//
// A bar is never met where an attempt has failed, nor where it is written wrongly: a run takes half an hour, so that is
// told in its table and not by an exception.

import type { Measure } from "./results.ts";
import { isStatistic, statistics } from "./statistics.ts";

export interface Verdict {
  /** Undefined where what was examined is met and something else had to be skipped. */
  readonly met: boolean | undefined;
  /** What was found, in the order of the conditions. */
  readonly found: string;
}

interface Finding {
  readonly met: boolean | undefined;
  readonly text: string;
}

/** Of a measure without a bar. */
export const NO_BAR = "–";
const CONDITION = /^(?:(\w+) )?([≤≥]) ([\d.,]+)(?: × (.+))?$/;
/** What a measure is called may hold commas as well. */
const BETWEEN_CONDITIONS = /, (?=none fails|(?:\w+ )?[≤≥] )/;
const OWN = "its median";

/** Undefined where there is no bar. */
export function judge(measure: Measure, all: readonly Measure[]): Verdict | undefined {
  if (measure.bar === NO_BAR) return undefined;
  const findings = measure.bar.split(BETWEEN_CONDITIONS).map((condition) => examine(condition, measure, all));
  const failures = measure.failures?.length ?? 0;
  const failed = failures === 0 ? [] : [`${failures} failed`];
  return {
    met: failures > 0 || findings.some(({ met }) => met === false) ? false : allMet(findings),
    found: [...findings.map(({ text }) => text), ...failed].join(", "),
  };
}

function allMet(findings: readonly Finding[]): true | undefined {
  return findings.every(({ met }) => met === true) ? true : undefined;
}

function examine(condition: string, measure: Measure, all: readonly Measure[]): Finding {
  if (condition === "none fails") return { met: true, text: `${measure.samples.length} succeeded` };
  const [, word, relation, number = "", other] = CONDITION.exec(condition) ?? [];
  const statistic = word ?? (relation === "≤" ? "max" : "min");
  if (relation === undefined || !isStatistic(statistic))
    return { met: false, text: `"${condition}" is no condition` };
  const value = statistics[statistic](measure.samples);
  const limit = Number(number.replaceAll(",", ""));
  if (other === undefined) return found(statistic, value, { relation, limit, unit: measure.unit });
  const base = other === OWN ? measure : all.find(({ what }) => what === other);
  if (base === undefined) return { met: false, text: `nothing measured is called "${other}"` };
  if (base.skipped !== undefined) return { met: undefined, text: "the other was skipped" };
  const factor = value / statistics.median(base.samples);
  return found(statistic, factor, { relation, limit, unit: "×" });
}

function found(
  statistic: string,
  value: number,
  { relation, limit, unit }: { relation: string; limit: number; unit: string },
): Finding {
  // A measure without a sample has NaN, which meets nothing.
  const met = relation === "≤" ? value <= limit : value >= limit;
  return { met, text: `${statistic} ${shownNumber(value)} ${unit === "count" ? "" : unit}`.trim() };
}

/** Three digits that say something, and no more. */
export function shownNumber(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const digits = Math.min(6, Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value) || 1))));
  return Number.isInteger(value)
    ? value.toLocaleString("en-US")
    : value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
