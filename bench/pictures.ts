// Which pictures a chapter has, and what is on them: samples of one unit as distributions, and measures with an axis as curves. The
// last committed run is drawn dashed behind, in the same color.

import { axisFor, linear, type Axis } from "./axis.ts";
import { shownNumber } from "./bars.ts";
import { areaClass, canvas, dot, lineClass, path, type LegendEntry, type Point } from "./canvas.ts";
import type { ChapterResults, Measure } from "./results.ts";
import { statistics } from "./statistics.ts";

export interface Picture {
  readonly file: string;
  readonly title: string;
  /** The file's content. */
  readonly svg: string;
}

const LAST = "… in the last committed run";
/** Fewer samples are no distribution. */
const SAMPLES_MIN = 5;
/** More points than this are a band from p5 to p95. */
const DOTS_MAX = 400;
const BINS_MAX = 40;
const BIN_SAMPLES = 5;
/** Up to so many places on an axis each is a bin of its own. */
const PLACES_MAX = 12;

export function picturesOf(chapter: ChapterResults, before: ReadonlyMap<string, Measure>): Picture[] {
  const drawn = chapter.measures.filter(({ samples }) => samples.length >= SAMPLES_MIN);
  const distributions = groups(
    drawn.filter(({ at }) => at === undefined),
    ({ unit }) => unit,
  );
  const curves = groups(
    drawn.filter(({ at }) => at !== undefined),
    ({ unit, at }) => `${unit}, ${at?.axis ?? ""}`,
  );
  return [
    ...[...distributions].map(([key, measures]) =>
      picture(chapter, key, distribution(chapter.title, measures, before)),
    ),
    ...[...curves].map(([key, measures]) => picture(chapter, key, curve(chapter.title, measures, before))),
  ];
}

function picture({ name, title }: ChapterResults, key: string, svg: string): Picture {
  const suffix = key
    .toLowerCase()
    .replaceAll("%", "percent")
    .replaceAll(/[^a-z0-9]+/g, "-");
  return { file: `${name}-${suffix}.svg`, title: `${title}: ${key}`, svg };
}

function groups(measures: readonly Measure[], key: (measure: Measure) => string): Map<string, Measure[]> {
  return Map.groupBy(measures, key);
}

interface Line extends LegendEntry {
  readonly samples: readonly number[];
  readonly failures: number;
}

/** How many of all attempts had been answered after so long. Failed ones never are, so a line with failures ends below 100 %. */
function distribution(
  title: string,
  measures: readonly Measure[],
  before: ReadonlyMap<string, Measure>,
): string {
  const lines = measures.flatMap((measure, color): Line[] => {
    const last = before.get(measure.what);
    const ours = distributionLine(measure, { color, faint: false });
    if (last === undefined || last.samples.length < SAMPLES_MIN) return [ours];
    return [ours, { ...distributionLine(last, { color, faint: true }), text: LAST }];
  });
  const [{ unit } = { unit: "" }] = measures;
  const xAxis = axisFor(
    lines.flatMap(({ samples }) => samples),
    { fromZero: true },
  );
  const frame = {
    title,
    x: { axis: xAxis, label: unit },
    y: { axis: linear(0, 100), label: "% of attempts" },
    legend: lines,
  };
  return canvas(frame, (pixel) => lines.map((line) => path(steps(line).map(pixel), lineClass(line))));
}

function distributionLine(
  { what, unit, samples, failures = [] }: Measure,
  style: Pick<LegendEntry, "color" | "faint">,
): Line {
  const failed = failures.length === 0 ? "" : `, ${failures.length} failed`;
  const text = `${what}: median ${shownNumber(statistics.median(samples))} ${unit}, n = ${samples.length}${failed}`;
  return { ...style, text, samples, failures: failures.length };
}

function steps({ samples, failures }: Line): Point[] {
  const sorted = samples.toSorted((a, b) => a - b);
  const all = sorted.length + failures;
  return sorted.flatMap((x, index) => [
    { x, y: (index / all) * 100 },
    { x, y: ((index + 1) / all) * 100 },
  ]);
}

interface Curve extends LegendEntry {
  readonly points: readonly Point[];
}

/** Samples over their places: the line goes through the medians, around it dots or a band. */
function curve(title: string, measures: readonly Measure[], before: ReadonlyMap<string, Measure>): string {
  const lines = [...groups(measures, ({ at }) => at?.line ?? "")].flatMap(([text, parts], color): Curve[] => {
    const last = parts.flatMap(({ what }) => before.get(what) ?? []).flatMap(pointsOf);
    const ours = { text, color, faint: false, points: parts.flatMap(pointsOf) };
    return last.length === 0 ? [ours] : [ours, { text: LAST, color, faint: true, points: last }];
  });
  const points = lines.flatMap((line) => line.points);
  const [{ unit, at } = { unit: "", at: undefined }] = measures;
  const frame = {
    title,
    x: { axis: placesAxis(points.map(({ x }) => x)), label: at?.axis ?? "" },
    y: {
      axis: axisFor(
        points.map(({ y }) => y),
        { fromZero: true },
      ),
      label: unit,
    },
    legend: lines,
  };
  return canvas(frame, (pixel) =>
    lines.flatMap((line) => {
      const bins = binned(line.points);
      const medians = bins.map(({ x, ys }) => pixel({ x, y: statistics.median(ys) }));
      return [...(line.faint ? [] : around(line, bins, pixel)), path(medians, lineClass(line))];
    }),
  );
}

/** A few chosen places may be far apart; time and the like go by evenly. */
function placesAxis(places: readonly number[]): Axis {
  return new Set(places).size <= PLACES_MAX
    ? axisFor(places, { fromZero: true })
    : linear(0, Math.max(...places));
}

function pointsOf({ samples, at }: Measure): Point[] {
  return samples.map((y, index) => ({ x: at?.values[index] ?? 0, y }));
}

interface Bin {
  readonly x: number;
  readonly ys: readonly number[];
}

function around(
  line: Pick<LegendEntry, "color"> & { readonly points: readonly Point[] },
  bins: readonly Bin[],
  pixel: (point: Point) => Point,
): string[] {
  if (line.points.length <= DOTS_MAX)
    return line.points.map((point) => dot(pixel(point), `${areaClass(line)} dot`));
  const high = bins.map(({ x, ys }) => pixel({ x, y: statistics.p95(ys) }));
  const low = bins.map(({ x, ys }) => pixel({ x, y: -statistics.p95(ys.map((y) => -y)) }));
  return [path([...high, ...low.toReversed()], areaClass(line))];
}

function binned(points: readonly Point[]): Bin[] {
  const places = new Set(points.map(({ x }) => x));
  const low = Math.min(...places);
  const bins = Math.min(BINS_MAX, Math.ceil(points.length / BIN_SAMPLES));
  const width = (Math.max(...places) - low) / bins;
  const placeOf = ({ x }: Point): number =>
    places.size <= PLACES_MAX ? x : low + (Math.min(bins - 1, Math.floor((x - low) / width)) + 0.5) * width;
  return [...Map.groupBy(points, placeOf)]
    .map(([x, inside]) => ({ x, ys: inside.map(({ y }) => y) }))
    .toSorted((a, b) => a.x - b.x);
}
