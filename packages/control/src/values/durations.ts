import { durationHelp, formatDuration, isNoBound, parseDuration } from "@skerry/contract/durations";
import { SkerryError } from "@skerry/contract/errors";

/** The remediation for a duration that cannot be read. */
export function invalidDuration(field: string, value: unknown): SkerryError {
  const message =
    typeof value === "number"
      ? `"${field}" must be a text such as "30s", not a number.`
      : `"${field}" is not a duration greater than zero.`;
  return new SkerryError("invalid_duration", message, {
    remediation: durationHelp(isScalar(value) ? String(value) : ""),
    context: { field, ...(isScalar(value) ? { value: shortened(value) } : {}) },
  });
}

/** Milliseconds of a duration, or `invalid_duration` that names the field. */
export function readDuration(field: string, text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw invalidDuration(field, text);
  return ms;
}

/** The same, and 0 for `0s`, which is none. */
export function readOptionalBound(field: string, text: string, maxMs: number): number {
  return isNoBound(text) ? 0 : readBoundedDuration(field, text, maxMs, "Write 0s for none.");
}

/**
 * The same with an upper bound: more is refused, never cut silently. `otherwise`: how to do without the
 * bound.
 */
export function readBoundedDuration(field: string, text: string, maxMs: number, otherwise = ""): number {
  const ms = readDuration(field, text);
  if (ms <= maxMs) return ms;
  throw tooLong(field, text, maxMs, otherwise);
}

export function tooLong(field: string, text: string, maxMs: number, otherwise = ""): SkerryError {
  const max = formatDuration(maxMs);
  return new SkerryError("timeout_too_long", `"${field}" is ${text}, but at most ${max} is allowed.`, {
    remediation: `Ask for ${max} or less. ${otherwise}`.trim(),
    context: { field, value: text, max },
  });
}

/** The same with a lower bound as well. */
export function readDurationWithin(
  field: string,
  text: string,
  bounds: { minMs: number; maxMs: number },
): number {
  const ms = readBoundedDuration(field, text, bounds.maxMs);
  if (ms >= bounds.minMs) return ms;
  const min = formatDuration(bounds.minMs);
  throw new SkerryError("invalid_duration", `"${field}" is ${text}, but at least ${min} is needed.`, {
    remediation: `Ask for ${min} or more.`,
    context: { field, value: text, min },
  });
}

function isScalar(value: unknown): value is string | number | boolean | null {
  return value === null || ["string", "number", "boolean"].includes(typeof value);
}

const SHOWN_CHARS = 60;

function shortened(value: string | number | boolean | null): string | number | boolean | null {
  return typeof value === "string" ? value.slice(0, SHOWN_CHARS) : value;
}
