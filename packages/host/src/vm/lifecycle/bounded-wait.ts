// Bounds the calls that wait for a VM that is being created or adopted, in number and in time. A hostile guest
// decides how long its adoption takes, and waiting calls hold connections that calls for other VMs need.

import { setTimeout as sleep } from "node:timers/promises";
import { SkerryError } from "@skerry/contract/errors";
import type { VmEntry } from "./vm-table.ts";

const WAITERS_MAX = 64;
const WAIT_MAX_MS = 45_000;
const RETRY_AFTER_S = 5;

const waiters = new WeakMap<VmEntry, number>();

/** Resolves when `done` has settled. Throws `host_unavailable` where `WAITERS_MAX` calls wait for this VM
 *  already, or after `maxMs`. */
export async function boundedWait(
  entry: VmEntry,
  done: Promise<unknown>,
  maxMs = WAIT_MAX_MS,
): Promise<void> {
  const waiting = waiters.get(entry) ?? 0;
  if (waiting >= WAITERS_MAX) throw notYet();
  waiters.set(entry, waiting + 1);
  const over = new AbortController();
  try {
    const late = sleep(maxMs, "late" as const, { signal: over.signal }).catch(() => undefined);
    if ((await Promise.race([done.catch(() => undefined), late])) === "late") throw notYet();
  } finally {
    over.abort();
    waiters.set(entry, (waiters.get(entry) ?? 1) - 1);
  }
}

function notYet(): SkerryError {
  return new SkerryError(
    "host_unavailable",
    "The host has not taken the microVM over yet: it does not answer.",
    {
      remediation: "Try again in a few seconds, or destroy it.",
      retryAfterS: RETRY_AFTER_S,
    },
  );
}
