// Times as people think of them: `in 4 min`, `2 h ago`. JSON has them as they are.

import { lengthText, parseDuration } from "@skerry/contract/durations";

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
