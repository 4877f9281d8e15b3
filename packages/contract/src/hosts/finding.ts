// What was found when a machine was examined: one entry for each check, with what to do about it.

import { Type, type Static } from "typebox";
import { OneOf } from "../fields.ts";

/** What was measured. All three are the same where there is one sample. */
export const Figure = Type.Object(
  {
    what: Type.String({ minLength: 1 }),
    unit: Type.String(),
    samples: Type.Integer({ minimum: 1 }),
    median: Type.Number(),
    /** Of a rate the lowest hundredth, of a time the highest. */
    p99: Type.Number(),
    worst: Type.Number(),
  },
  { additionalProperties: false },
);
export type Figure = Static<typeof Figure>;

/** A warning keeps no VM from running. What was not tried says why in `found`. */
export const verdicts = ["ok", "warning", "fault", "not_tried"] as const;

export const Finding = Type.Object(
  {
    /** What the check belongs to, such as `clock`. */
    section: Type.String({ minLength: 1 }),
    check: Type.String({ minLength: 1 }),
    verdict: OneOf(verdicts),
    found: Type.String(),
    /** What to do; empty where nothing is to be done. */
    remedy: Type.String(),
    figures: Type.Array(Figure),
  },
  { additionalProperties: false },
);
export type Finding = Static<typeof Finding>;
export type Verdict = Finding["verdict"];

/** Of at least one sample. The worst is the largest, of a rate the smallest. */
export function figureOf(
  what: string,
  unit: string,
  samples: readonly number[],
  { isRate = false }: { readonly isRate?: boolean } = {},
): Figure {
  const fromBest = samples.toSorted((a, b) => (isRate ? b - a : a - b));
  const at = (share: number): number =>
    Number((fromBest[Math.max(0, Math.ceil(share * fromBest.length) - 1)] ?? Number.NaN).toPrecision(4));
  return { what, unit, samples: fromBest.length, median: at(0.5), p99: at(0.99), worst: at(1) };
}
