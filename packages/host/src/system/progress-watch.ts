// A deadline that counts from the last progress: what is slow may take its time, and what stands still is given up.

export interface ProgressDeadline {
  readonly withinMs: number;
  /** Another answer than the last time is progress. One that fails, or takes longer than a deadline of its own, is none. */
  readonly measure: () => Promise<unknown>;
}

export interface ProgressWatch {
  /** There is progress that `measure` does not see. */
  note(): void;
  stop(): void;
}

/** How often a deadline is looked at while it counts. */
const LOOKS = 30;

/** Calls `expire` once, with the reason, where there was no progress within the time. */
export function watchProgress(
  { withinMs, measure }: ProgressDeadline,
  expire: (why: string) => void,
): ProgressWatch {
  let lastMs = performance.now();
  let measured: unknown;
  let isLooking = false;
  const note = (): void => void (lastMs = performance.now());
  const look = async (): Promise<void> => {
    isLooking = true;
    const now = await measure().catch(() => measured);
    if (now !== measured) note();
    measured = now;
    isLooking = false;
  };
  const timer = setInterval(() => {
    if (performance.now() - lastMs >= withinMs) {
      clearInterval(timer);
      expire(`no progress within ${withinMs / 1_000} s`);
    } else if (!isLooking) void look();
  }, withinMs / LOOKS);
  return { note, stop: () => clearInterval(timer) };
}
