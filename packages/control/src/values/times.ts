import { SkerryError } from "@skerry/contract/errors";

/** A day, or a time with its offset: a local time would mean another moment to the server than to the caller. */
const TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/;

/** Throws where the text is no time, naming the field. */
export function readTime(field: string, text: string): Date {
  const time = new Date(TIME.test(text) ? text : Number.NaN);
  if (!Number.isNaN(time.getTime()) && time.getTime() >= 0) return time;
  throw new SkerryError("bad_request", `"${field}" is not a time.`, {
    remediation: "Use ISO 8601 in UTC, for example 2026-11-20T16:00:00Z or 2026-11-20.",
    context: { field },
  });
}
