// Durations on the wire are strings such as `30s`, `10m`, `24h` or `1h30m`: whole units, largest first, each at most once.

const SHAPE = /^(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?(?:(\d{1,9})ms)?$/;

type Hours = `${bigint}h` | "";
type Minutes = `${bigint}m` | "";
type Seconds = `${bigint}s` | "";
type Milliseconds = `${bigint}ms` | "";

/** What the compiler can tell of a duration: `5m` and `1h30m` are some, and `5 minutes` or `5` is none. */
export type Duration = Exclude<`${Hours}${Minutes}${Seconds}${Milliseconds}`, "">;

/** Every string that `parseDuration` takes matches this, and the schemas publish it. */
export const durationPattern = "^(?=\\d)(\\d{1,9}h)?(\\d{1,9}m)?(\\d{1,9}s)?(\\d{1,9}ms)?$";

/** Milliseconds of a duration string, or undefined where it is malformed, unit-less, zero or negative. */
export function parseDuration(text: string): number | undefined {
  const match = SHAPE.exec(text);
  if (match === null) return undefined;
  const [hours, minutes, seconds, milliseconds] = match.slice(1).map((part) => Number(part ?? 0));
  const total =
    (hours ?? 0) * 3_600_000 + (minutes ?? 0) * 60_000 + (seconds ?? 0) * 1_000 + (milliseconds ?? 0);
  return total > 0 ? total : undefined;
}

/** Which texts are durations, and what one that is none may have meant. */
export function durationHelp(text: string): string {
  const units = "Write whole numbers with the units h, m, s and ms, such as 30s, 10m or 1h30m.";
  const [, number = "", unit = ""] = /^(\d{1,6}) *(d|days?)?$/i.exec(text) ?? [];
  if (number === "") return units;
  const meant = unit === "" ? `${number}s, ${number}m or ${number}h` : `${Number(number) * 24}h`;
  return `${unit === "" ? `${number} has no unit` : "There is no unit for days"}: write ${meant}. ${units}`;
}

/** `0s`: no bound at all, where a field offers that. */
export function isNoBound(text: string): boolean {
  return /^0+(?:h|m|s|ms)$/.test(text);
}

/** The shortest string that `parseDuration` reads back as these milliseconds (a positive whole number). */
export function formatDuration(totalMs: number): string {
  const hours = Math.floor(totalMs / 3_600_000);
  const minutes = Math.floor((totalMs % 3_600_000) / 60_000);
  const seconds = Math.floor((totalMs % 60_000) / 1_000);
  const milliseconds = totalMs % 1_000;
  return [
    hours > 0 ? `${hours}h` : "",
    minutes > 0 ? `${minutes}m` : "",
    seconds > 0 ? `${seconds}s` : "",
    milliseconds > 0 ? `${milliseconds}ms` : "",
  ].join("");
}

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** For people: in the largest unit of which there are at least two. */
export function lengthText(ms: number): string {
  if (ms < 2 * MINUTE_MS) return `${Math.round(ms / SECOND_MS)} s`;
  if (ms < 2 * HOUR_MS) return `${Math.round(ms / MINUTE_MS)} min`;
  if (ms < 2 * DAY_MS) return `${Math.round(ms / HOUR_MS)} h`;
  return `${Math.round(ms / DAY_MS)} d`;
}
