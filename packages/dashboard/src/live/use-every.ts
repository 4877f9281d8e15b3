import type { ReadonlySignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

/** Calls `reload` again and again while the tab is seen; never where `everyMs` is undefined. */
export function useEvery(
  everyMs: number | undefined,
  isLoading: ReadonlySignal<boolean>,
  reload: () => void,
): void {
  useEffect(() => {
    if (everyMs === undefined) return undefined;
    const timer = setInterval(() => {
      // One that takes longer is let come: it would never come if the next one ended it.
      if (!document.hidden && !isLoading.peek()) reload();
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
}
