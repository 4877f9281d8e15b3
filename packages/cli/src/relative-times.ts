// Times as people think of them: `in 4 min`, `2 h ago`. JSON has them as they are.

import { parseDuration } from "@skerry/contract/durations";

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** `time` is ISO 8601, `nowMs` in milliseconds since 1970. Null is a dash. */
export function relativeTime(time: string | null, nowMs: number = Date.now()): string {
  if (time === null) return "-";
  const awayMs = Date.parse(time) - nowMs;
  const length = lengthText(Math.abs(awayMs));
  if (length === "0 s") return "now";
  return awayMs > 0 ? `in ${length}` : `${length} ago`;
}

/** A moment that the user names: `1h` is an hour ago. What is no duration is for the server to read. */
export function timeMeant(text: string, nowMs: number = Date.now()): string {
  const awayMs = parseDuration(text);
  const time = new Date(nowMs - (awayMs ?? 0));
  return awayMs === undefined || Number.isNaN(time.getTime()) ? text : time.toISOString();
}

/** In the largest unit of which there are at least two. */
function lengthText(ms: number): string {
  if (ms < 2 * MINUTE_MS) return `${Math.round(ms / SECOND_MS)} s`;
  if (ms < 2 * HOUR_MS) return `${Math.round(ms / MINUTE_MS)} min`;
  if (ms < 2 * DAY_MS) return `${Math.round(ms / HOUR_MS)} h`;
  return `${Math.round(ms / DAY_MS)} d`;
}
