// Computes how many clones of which kind should wait, from past requests and the limits. Pure.

/** Clones of one template and size are alike until they are taken. */
export interface Kind {
  readonly template: string;
  readonly size: string;
  readonly memoryMib: number;
}

export interface Demand {
  readonly kind: Kind;
  /** Times of requests for one, in ms of one clock, oldest first. */
  readonly takenAtMs: readonly number[];
  /** Kept even without demand. */
  readonly min: number;
}

export interface WarmLimits {
  /** Clones of one kind. */
  readonly max: number;
  /** Guest memory of all clones that wait. */
  readonly memoryMib: number;
  /** All clones that wait. */
  readonly count: number;
}

/** Demand older than this is forgotten. */
export const DEMAND_WINDOW_MS = 10 * 60_000;
/** As many are kept as were requested within this time, which is about as long as making some new ones
 *  takes. */
export const BURST_MS = 5_000;

/** The number for each demand, in the same order. Where not all fit, each kind gets one before any gets
 *  its second. */
export function warmTargets(demands: readonly Demand[], limits: WarmLimits, nowMs: number): number[] {
  const wanted = demands.map(({ takenAtMs, min }) =>
    Math.min(limits.max, Math.max(min, largestBurst(takenAtMs, nowMs))),
  );
  const targets = wanted.map(() => 0);
  let memoryMib = 0;
  let count = 0;
  for (let round = 1; round <= limits.max; round += 1) {
    for (const [index, { kind }] of demands.entries()) {
      const fits = count < limits.count && memoryMib + kind.memoryMib <= limits.memoryMib;
      if ((wanted[index] ?? 0) < round || !fits) continue;
      targets[index] = round;
      memoryMib += kind.memoryMib;
      count += 1;
    }
  }
  return targets;
}

/** The largest number of requests within `BURST_MS`. */
function largestBurst(takenAtMs: readonly number[], nowMs: number): number {
  const recent = takenAtMs.filter((atMs) => nowMs - atMs < DEMAND_WINDOW_MS);
  let largest = 0;
  let first = 0;
  for (const [index, atMs] of recent.entries()) {
    while (atMs - (recent[first] ?? atMs) >= BURST_MS) first += 1;
    largest = Math.max(largest, index - first + 1);
  }
  return largest;
}
