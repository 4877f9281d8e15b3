// The frame that all pictures share, as SVG text: panel, axes with units, legend. Colors come from classes, so that one file is legible on
// a light and on a dark page; it brings its own panel, so that it never depends on what lies behind it.

import { shownNumber } from "./bars.ts";
import type { Axis } from "./axis.ts";

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface LegendEntry {
  readonly text: string;
  /** Number of its color; faint ones are drawn dashed. */
  readonly color: number;
  readonly faint: boolean;
}

export interface Frame {
  readonly title: string;
  readonly x: { readonly axis: Axis; readonly label: string };
  readonly y: { readonly axis: Axis; readonly label: string };
  readonly legend: readonly LegendEntry[];
}

const WIDTH = 760;
const PLOT_HEIGHT = 280;
const LEFT = 72;
const RIGHT = 36;
const TITLE_HEIGHT = 40;
const LEGEND_LINE = 18;
const BOTTOM = 52;
/** Told apart also by people who see few colors (after Okabe and Ito); a pair each for light and dark. */
const COLORS = [
  ["#0060a8", "#6cb6ff"],
  ["#c04a00", "#ff9d5c"],
  ["#007a5a", "#3fd0a4"],
  ["#9a3d80", "#e79fd0"],
  ["#7a6200", "#e3c84a"],
  ["#4a4f57", "#b0b8c4"],
] as const;

/** A whole picture. `draw` gets the function from values to pixels. */
export function canvas(frame: Frame, draw: (pixel: (point: Point) => Point) => readonly string[]): string {
  const top = TITLE_HEIGHT + frame.legend.length * LEGEND_LINE + 10;
  const height = top + PLOT_HEIGHT + BOTTOM;
  const pixel = ({ x, y }: Point): Point => ({
    x: LEFT + frame.x.axis.share(x) * (WIDTH - LEFT - RIGHT),
    y: top + (1 - frame.y.axis.share(y)) * PLOT_HEIGHT,
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">`,
    `<title>${escape(frame.title)}</title>`,
    `<style>${STYLE}</style>`,
    `<rect class="panel" width="${WIDTH}" height="${height}" rx="6"/>`,
    `<text class="title" x="${LEFT}" y="26">${escape(frame.title)}</text>`,
    ...legend(frame.legend),
    ...axes(frame, pixel, top),
    ...draw(pixel),
    "</svg>",
    "",
  ].join("\n");
}

/** A line through these pixels. */
export function path(points: readonly Point[], className: string): string {
  const steps = points.map(({ x, y }, index) => `${index === 0 ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`);
  return `<path class="${className}" d="${steps.join("")}"/>`;
}

export function dot({ x, y }: Point, className: string): string {
  return `<circle class="${className}" cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="2.5"/>`;
}

export function lineClass({ color, faint }: Pick<LegendEntry, "color" | "faint">): string {
  return `line c${color % COLORS.length}${faint ? " faint" : ""}`;
}

export function areaClass({ color }: Pick<LegendEntry, "color">): string {
  return `area a${color % COLORS.length}`;
}

const STYLE = [
  "text{font:12px system-ui,sans-serif;fill:#24292f}.title{font-size:15px;font-weight:600}",
  ".panel{fill:#fff;stroke:#d0d7de}.grid{stroke:#e4e8ec}.end{text-anchor:end}.middle{text-anchor:middle}",
  ".line{fill:none;stroke-width:2}.faint{stroke-width:1.5;stroke-dasharray:5 4}.area{stroke:none;opacity:.18}.dot{opacity:.45}",
  ...COLORS.map(([light], n) => `.c${n}{stroke:${light}}.a${n}{fill:${light}}`),
  "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.panel{fill:#0d1117;stroke:#30363d}.grid{stroke:#2a313a}",
  ...COLORS.map(([, dark], n) => `.c${n}{stroke:${dark}}.a${n}{fill:${dark}}`),
  "}",
].join("");

function legend(entries: readonly LegendEntry[]): string[] {
  return entries.flatMap((entry, index) => {
    const y = TITLE_HEIGHT + index * LEGEND_LINE + 6;
    return [
      `<path class="${lineClass(entry)}" d="M${LEFT} ${y}h26"/>`,
      `<text x="${LEFT + 34}" y="${y + 4}">${escape(entry.text)}</text>`,
    ];
  });
}

function axes({ x, y }: Frame, pixel: (point: Point) => Point, top: number): string[] {
  const bottom = top + PLOT_HEIGHT;
  const [firstX = 0] = x.axis.ticks;
  const [firstY = 0] = y.axis.ticks;
  return [
    ...x.axis.ticks.flatMap((tick) => {
      const at = pixel({ x: tick, y: firstY }).x.toFixed(1);
      return [
        `<path class="grid" d="M${at} ${top}V${bottom}"/>`,
        `<text class="middle" x="${at}" y="${bottom + 18}">${shownNumber(tick)}</text>`,
      ];
    }),
    ...y.axis.ticks.flatMap((tick) => {
      const at = pixel({ x: firstX, y: tick }).y;
      return [
        `<path class="grid" d="M${LEFT} ${at.toFixed(1)}H${WIDTH - RIGHT}"/>`,
        `<text class="end" x="${LEFT - 8}" y="${(at + 4).toFixed(1)}">${shownNumber(tick)}</text>`,
      ];
    }),
    `<text class="middle" x="${(LEFT + WIDTH - RIGHT) / 2}" y="${bottom + 40}">${escape(x.label)}</text>`,
    `<text class="middle" transform="translate(18 ${top + PLOT_HEIGHT / 2}) rotate(-90)">${escape(y.label)}</text>`,
  ];
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll("`", "");
}
