// Axes of a picture: from values to pixels, and where the numbers stand. Pure.

export interface Axis {
  readonly ticks: readonly number[];
  /** A value's share of the axis' length: 0 at its beginning, 1 at its end. */
  readonly share: (value: number) => number;
}

/** Beyond this ratio of the largest to the smallest value a linear axis would press most of them into its first pixels. */
const LOGARITHMIC_FROM = 12;
const TICKS_WANTED = 6;

/** For these values, logarithmic where they are far apart. `fromZero`: a linear one begins at 0. */
export function axisFor(values: readonly number[], { fromZero }: { fromZero: boolean }): Axis {
  const finite = values.filter(Number.isFinite);
  const low = finite.reduce((least, value) => Math.min(least, value), Infinity);
  const high = finite.reduce((most, value) => Math.max(most, value), -Infinity);
  if (finite.length === 0) return linear(0, 1);
  return low > 0 && high / low >= LOGARITHMIC_FROM
    ? logarithmic(low, high)
    : linear(fromZero ? 0 : low, high);
}

export function linear(low: number, high: number): Axis {
  const step = niceStep((high - low || Math.abs(high) || 1) / TICKS_WANTED);
  const first = Math.floor(low / step);
  const last = Math.max(first + 1, Math.ceil(high / step));
  const ticks = Array.from({ length: last - first + 1 }, (_, index) =>
    Number(((first + index) * step).toPrecision(12)),
  );
  const [from, to] = [first * step, last * step];
  return { ticks, share: (value) => (value - from) / (to - from) };
}

function logarithmic(low: number, high: number): Axis {
  const decades = Math.log10(high / low);
  const factors = decades > 3 ? [1] : decades > 1.5 ? [1, 3] : [1, 2, 5];
  const all: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1)
    for (const factor of factors) all.push(Number((factor * 10 ** power).toPrecision(12)));
  const from = all.findLast((tick) => tick <= low) ?? low;
  const to = all.find((tick) => tick >= high) ?? high;
  return {
    ticks: all.filter((tick) => tick >= from && tick <= to),
    share: (value) => Math.log(value / from) / Math.log(to / from),
  };
}

/** The next of 1, 2, 5, 10, 20, … that is not smaller. */
function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * ([1, 2, 5].find((factor) => factor * power >= least) ?? 10);
}
