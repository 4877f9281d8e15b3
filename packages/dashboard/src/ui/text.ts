// Figures and times as people read them.

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"] as const;
const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export function bytesText(bytes: number): string {
  let [value, unit] = [bytes, 0];
  while (value >= 1024 && unit < UNITS.length - 1) [value, unit] = [value / 1024, unit + 1];
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit] ?? ""}`;
}

/** Two units at most: `3 min 2 s`, `5 h 1 min`, `2 d 4 h`. */
export function durationText(ms: number): string {
  const whole = Math.max(0, ms);
  if (whole >= DAY_MS) return pair([whole / DAY_MS, "d"], [(whole % DAY_MS) / HOUR_MS, "h"]);
  if (whole >= HOUR_MS) return pair([whole / HOUR_MS, "h"], [(whole % HOUR_MS) / MINUTE_MS, "min"]);
  if (whole >= MINUTE_MS) return pair([whole / MINUTE_MS, "min"], [(whole % MINUTE_MS) / SECOND_MS, "s"]);
  return `${Math.floor(whole / SECOND_MS)} s`;
}

export function clockText(ms: number): string {
  return new Date(ms).toLocaleTimeString("en-GB");
}

export function countText(count: number): string {
  return count.toLocaleString("en-GB");
}

/** The beginning and the end of an id: `sbx_01m7…tvhv`. */
export function shortId(id: string): string {
  return id.length <= 16 ? id : `${id.slice(0, 8)}…${id.slice(-4)}`;
}

/** A line that a program has printed, without what would colour a terminal or move its cursor. */
export function printable(line: string): string {
  // eslint-disable-next-line no-control-regex
  return line.replace(/\x1b\[[0-9;?]*[ -/]*[@-~]/g, "").replace(/[\x00-\x08\x0b-\x1f\x7f]/g, "");
}

/** What a person calls it: its name, else the ends of its id. */
export function nameOf(resource: { readonly id?: string; readonly name?: string | null }): string {
  return resource.name ?? shortId(resource.id ?? "");
}

function pair(first: readonly [number, string], second: readonly [number, string]): string {
  const rest = Math.floor(second[0]);
  const head = `${Math.floor(first[0])} ${first[1]}`;
  return rest === 0 ? head : `${head} ${rest} ${second[1]}`;
}
