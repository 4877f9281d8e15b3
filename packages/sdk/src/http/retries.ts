// When a call is sent again: only where a second one changes nothing that the first one has not, and only after failures that pass by
// themselves. A call that was too slow is not repeated: a caller that waited that long should decide.

import { SkerryApiError } from "../errors/api-errors.ts";
import { SkerryConnectionError } from "../errors/errors.ts";
import type { HttpRequest } from "./http-request.ts";

export const RETRIES_DEFAULT = 2;

const FIRST_PAUSE_MS = 250;
/** A server that asks for more patience than this is obeyed by the caller, not by us. */
const RETRY_AFTER_MAX_S = 10;

/** Refusals that say nothing about the request. */
const passing: ReadonlySet<string> = new Set([
  "database_unavailable",
  "host_unavailable",
  "host_draining",
  "idempotency_in_progress",
  "rate_limited",
  "shutting_down",
]);

/** Undefined where the call must not, or should not, be sent again. */
export function pauseBeforeRetry(request: HttpRequest, error: unknown, attempt: number): number | undefined {
  const isSafe = request.method === "GET" || request.method === "DELETE" || request.creates === true;
  if (!isSafe) return undefined;
  // Half of it by chance, so that clients that failed together do not come back together.
  const backoffMs = FIRST_PAUSE_MS * 2 ** (attempt - 1) * (0.5 + Math.random() / 2);
  if (error instanceof SkerryConnectionError) return isBrokenConnection(error) ? backoffMs : undefined;
  if (!(error instanceof SkerryApiError) || !passing.has(error.code)) return undefined;
  const { retryAfterS = 0 } = error;
  return retryAfterS > RETRY_AFTER_MAX_S ? undefined : Math.max(backoffMs, retryAfterS * 1_000);
}

/** Rejects with the signal's reason when it aborts. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", onAbort, { once: true });
    if (signal?.aborted === true) onAbort();
  });
}

/** Node names what broke; a browser says nothing, and then it may have been the connection. A refused redirect is neither. */
export function isBrokenConnection({ cause }: SkerryConnectionError): boolean {
  if (!(cause instanceof TypeError)) return false;
  return cause.cause === undefined || (cause.cause as { code?: unknown }).code !== undefined;
}
