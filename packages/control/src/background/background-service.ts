// The loop that every background service runs in.

import type { Context, ServiceName } from "../context.ts";
import { isDatabaseOutage } from "../db/database.ts";
import type { LeaseRun } from "../db/tables/background-tables.ts";
import type { Fence } from "../db/fence.ts";
import type { Wakeup } from "./wakeups.ts";
import type { Lease, Leases } from "./lease.ts";

/** What one activation did. */
export interface Report {
  readonly examined: number;
  readonly changed: number;
  readonly failed: number;
  /** The limit of one activation was reached: the next one should follow at once. */
  readonly more: boolean;
  /** Something waits for its time, which comes before the period is over. */
  readonly nextMs?: number;
}

/** Work done again and again until the world matches the database. */
export interface BackgroundService {
  readonly name: ServiceName;
  readonly everyMs: number;
  /** Takes no input, so that a restart, a timer and a wake-up all run the same code. Its next turn is its retry. */
  activate(stop: AbortSignal): Promise<Report>;
}

/** Settings of the operator that services take. */
export interface ServiceSettings {
  /** Socket of the host on this machine. */
  readonly hostSocket: string;
  /** Audit events that are older are deleted. */
  readonly auditKeptDays: number;
  /** Sandboxes that have been paused for longer are destroyed. */
  readonly pausedKeptDays: number;
}

/** A service as its room declares it. */
export interface DeclaredService {
  readonly name: ServiceName;
  /** Its period, unless the operator has set another. */
  readonly everyMs: number;
  /** The variable of the environment that sets its period; undefined: nothing does. */
  readonly setting?: string;
  /** Whether its first turn comes at once where this process follows one that died. */
  readonly isDueAtStart?: true;
  readonly make: (context: Context, everyMs: number, settings: ServiceSettings) => BackgroundService;
}

/** The part of a room that runs by itself. */
export interface WithServices {
  readonly services?: readonly DeclaredService[];
}

/** Hears of every activation, with how long it took. */
export interface Observer {
  onReport(service: string, report: Report, durationMs: number): void;
  onError(service: string, error: unknown, durationMs: number): void;
}

/** A service, and the fence of the database that it writes to. */
export interface FencedService {
  readonly service: BackgroundService;
  readonly fence: Fence;
}

interface Run {
  readonly leases: Leases;
  readonly observer: Observer;
  readonly stop: AbortSignal;
}

/** After a turn that ended because the database was away. Interrupted work should not wait for the next period. */
const AWAY_PAUSE_MS = 1_000;

/** Resolves after `stop`, when the activation that was under way has ended. */
export async function runService(fenced: FencedService, wakeup: Wakeup, run: Run): Promise<void> {
  const wake = () => wakeup.wake();
  run.stop.addEventListener("abort", wake, { once: true });
  while (!run.stop.aborted) {
    const pauseMs = await takeTurn(fenced, wakeup, run);
    if (pauseMs > 0) await wakeup.wait(pauseMs);
  }
  run.stop.removeEventListener("abort", wake);
}

/** Activates the service where it is its turn, and on this replica. Returns how long to pause before the next look. */
async function takeTurn({ service, fence }: FencedService, wakeup: Wakeup, run: Run): Promise<number> {
  const startedMs = performance.now();
  try {
    await run.leases.passOn(wakeup, service.name);
    const lease = await run.leases.take(service.name, fence, run.stop);
    // Another replica may die after it has woken a service and before the others have heard of it.
    if ("waitMs" in lease) return Math.min(lease.waitMs, service.everyMs);
    using held = lease;
    const { nextMs, ...done } = await activateOnce(service, held, run);
    return await held.finish(done, nextMs);
  } catch (error) {
    // The database is away: the lease lapses.
    if (!run.stop.aborted) run.observer.onError(service.name, error, performance.now() - startedMs);
    return Math.min(AWAY_PAUSE_MS, service.everyMs);
  }
}

async function activateOnce(
  service: BackgroundService,
  lease: Lease,
  { observer, stop }: Run,
): Promise<Omit<LeaseRun, "holder"> & { readonly nextMs: number }> {
  const startedMs = performance.now();
  const tookMs = () => performance.now() - startedMs;
  try {
    const report = await service.activate(lease.signal);
    observer.onReport(service.name, report, tookMs());
    const { examined, changed, failed } = report;
    return { duration_ms: tookMs(), examined, changed, failed, nextMs: pauseAfter(service, report) };
  } catch (error) {
    if (!stop.aborted) observer.onError(service.name, error, tookMs());
    return {
      duration_ms: tookMs(),
      error: String(error),
      nextMs: stop.aborted ? 0 : pauseAfterError(service, error),
    };
  }
}

export function pauseAfter({ everyMs }: BackgroundService, { more, nextMs = everyMs }: Report): number {
  return more ? 0 : Math.min(nextMs, everyMs);
}

function pauseAfterError({ everyMs }: BackgroundService, error: unknown): number {
  return isDatabaseOutage(error) ? Math.min(AWAY_PAUSE_MS, everyMs) : everyMs;
}

/** Adds up what several pieces of work did. A piece that threw has failed. */
export function reportOf(
  results: readonly PromiseSettledResult<unknown>[],
  { examined, more }: { readonly examined: number; readonly more: boolean },
): Report {
  const failed = results.filter((result) => result.status === "rejected").length;
  return { examined, changed: results.length - failed, failed, more };
}
