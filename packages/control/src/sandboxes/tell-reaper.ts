// The reaper looks again when the time of the next sandbox is over, as far as it knew at its last look. Shorter times are told to it.

import type { Context } from "../context.ts";

/** Its period, where the settings say nothing else. */
const SHORT_MS = 10_000;

/** `timeoutMs`: the time that a sandbox has from now on. */
export function tellReaper(context: Context, timeoutMs: number): void {
  if (timeoutMs < SHORT_MS) context.wake("sandbox-reaper");
}
