// The one place that reads the time, so that a page is the same at the same time.

import { signal, type ReadonlySignal } from "@preact/signals";

const TICK_MS = 1_000;
const ticking = signal(Date.now());

setInterval(() => {
  // A hidden page has no time to show.
  if (!document.hidden) ticking.value = Date.now();
}, TICK_MS);
document.addEventListener("visibilitychange", () => (ticking.value = Date.now()));

/** Milliseconds since 1970, anew each second. */
export const nowMs: ReadonlySignal<number> = ticking;
