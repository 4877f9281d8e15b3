// Shares of organizations in what one proxy can serve. Pure.

import { EDGE_BACKENDS_MAX, EDGE_ROUTES_MAX } from "@skerry/contract/apps/app-bounds";

/** Part of one app in a document. */
interface Demand {
  readonly org_id: string;
  readonly backends: readonly unknown[];
  readonly routes: readonly unknown[];
}

/**
 * Parts that a document has room for. Where it has not for all, those of organizations that have more are
 * left out, and of those the newest, so that none keeps another from serving.
 *
 * @param demands - Those of each organization from the oldest app to the newest.
 */
export function fitting<Part extends Demand>(demands: readonly Part[]): Set<Part> {
  if (isWithin(sumOf(demands))) return new Set(demands);
  const sums = new Map<string, Sum>();
  const ranked = demands.map((demand) => {
    const sum = plus(sums.get(demand.org_id) ?? NOTHING, demand);
    sums.set(demand.org_id, sum);
    return { demand, rank: Math.max(sum.backends / EDGE_BACKENDS_MAX, sum.routes / EDGE_ROUTES_MAX) };
  });
  const fit = new Set<Part>();
  let whole = NOTHING;
  for (const { demand } of ranked.toSorted((one, other) => one.rank - other.rank)) {
    const next = plus(whole, demand);
    if (!isWithin(next)) continue;
    whole = next;
    fit.add(demand);
  }
  return fit;
}

interface Sum {
  readonly backends: number;
  readonly routes: number;
}
const NOTHING: Sum = { backends: 0, routes: 0 };

function plus({ backends, routes }: Sum, demand: Demand): Sum {
  return { backends: backends + demand.backends.length, routes: routes + demand.routes.length };
}

function sumOf(demands: readonly Demand[]): Sum {
  return demands.reduce(plus, NOTHING);
}

function isWithin({ backends, routes }: Sum): boolean {
  return backends <= EDGE_BACKENDS_MAX && routes <= EDGE_ROUTES_MAX;
}
