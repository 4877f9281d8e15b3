// The loop that every background service runs in.

import { setTimeout as sleep } from "node:timers/promises";

/** What one activation did. */
export interface Report {
  readonly examined: number;
  readonly changed: number;
  readonly failed: number;
  /** The limit of one activation was reached: the next one should follow at once. */
  readonly more: boolean;
}

/** Work done again and again until the world matches the database. */
export interface BackgroundService {
  readonly name: string;
  readonly everyMs: number;
  /** After an activation that threw; without it `everyMs`. */
  readonly retryMs?: number;
  /** Takes no input, so that a restart, a timer and a wake-up all run the same code. Its next turn is its retry. */
  activate(stop: AbortSignal): Promise<Report>;
}

/** Ends a wait early. Rings coalesce: many rings, one activation. */
export class Bell {
  #rung = new AbortController();

  ring(): void {
    this.#rung.abort();
  }

  async wait(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#rung.signal }).catch(() => undefined);
    this.#rung = new AbortController();
  }
}

/** Hears of every activation, with how long it took. */
export interface Observer {
  onReport(service: string, report: Report, durationMs: number): void;
  onError(service: string, error: unknown, durationMs: number): void;
}

/** Resolves after `stop`, when the activation that was under way has ended. */
export async function runService(
  service: BackgroundService,
  bell: Bell,
  { stop, observer }: { readonly stop: AbortSignal; readonly observer: Observer },
): Promise<void> {
  const ring = () => bell.ring();
  stop.addEventListener("abort", ring, { once: true });
  while (!stop.aborted) {
    const pauseMs = await activateOnce(service, stop, observer);
    if (pauseMs > 0) await bell.wait(pauseMs);
  }
  stop.removeEventListener("abort", ring);
}

/** Returns how long to pause before the next one. */
async function activateOnce(
  service: BackgroundService,
  stop: AbortSignal,
  observer: Observer,
): Promise<number> {
  const startedMs = performance.now();
  try {
    const report = await service.activate(stop);
    observer.onReport(service.name, report, performance.now() - startedMs);
    return report.more ? 0 : service.everyMs;
  } catch (error) {
    if (!stop.aborted) observer.onError(service.name, error, performance.now() - startedMs);
    return service.retryMs ?? service.everyMs;
  }
}

/** Adds up what several pieces of work did. A piece that threw has failed. */
export function reportOf(
  results: readonly PromiseSettledResult<unknown>[],
  { examined, more }: { readonly examined: number; readonly more: boolean },
): Report {
  const failed = results.filter((result) => result.status === "rejected").length;
  return { examined, changed: results.length - failed, failed, more };
}
