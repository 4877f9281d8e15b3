// All background services with their periods, on one page.
//
//   local-host-heartbeat   10 s   is the host of this machine there, and what has it got
//   sandbox-reconciler      5 s   rows against microVMs; also whenever the bell rings
//   sandbox-reaper         10 s   sandboxes past their expiry
//   audit-sweeper         10 min  audit events that are older than they are kept
//   sweeper               10 min  idempotency keys and rate buckets of yesterday

import type { Config } from "../config.ts";
import type { Context } from "../services/context.ts";
import { countRun } from "../metrics/background.ts";
import { auditSweeper } from "./audit-sweeper.ts";
import { heartbeat } from "./heartbeat.ts";
import { sweeper } from "./sweeper.ts";
import { sandboxReaper } from "./reaper.ts";
import { sandboxReconciler } from "./sandbox-reconciler.ts";
import { Bell, runService, type Observer } from "./service.ts";

type Settings = Pick<
  Config,
  | "hostSocket"
  | "heartbeatIntervalMs"
  | "reconcilerIntervalMs"
  | "reaperIntervalMs"
  | "sweeperIntervalMs"
  | "auditKeptDays"
>;

/** Starts all services; `reconcilerBell` wakes the reconciler. Resolves after `stop`, when all have ended. */
export async function runSchedule(
  context: Context,
  config: Settings,
  { reconcilerBell, stop }: { readonly reconcilerBell: Bell; readonly stop: AbortSignal },
): Promise<void> {
  const run = { stop, observer: observerOf(context) };
  await Promise.all([
    runService(heartbeat(context, config.hostSocket, config.heartbeatIntervalMs), new Bell(), run),
    runService(sandboxReconciler(context, config.reconcilerIntervalMs), reconcilerBell, run),
    runService(sandboxReaper(context, config.reaperIntervalMs), new Bell(), run),
    runService(auditSweeper(context, config.sweeperIntervalMs, config.auditKeptDays), new Bell(), run),
    runService(sweeper(context, config.sweeperIntervalMs), new Bell(), run),
  ]);
}

/** Counts every activation. A service that fails again and again is one warning, and one line when it is well again. */
function observerOf(context: Context): Observer {
  const failing = new Set<string>();
  return {
    onReport: (service, report, durationMs) => {
      countRun(context.metrics, service, { report, durationMs });
      if (failing.delete(service)) context.log.info({ service }, "a background service works again");
      context.log.debug({ service, ...report }, "a background service has run");
    },
    onError: (service, error, durationMs) => {
      countRun(context.metrics, service, { durationMs });
      const level = failing.has(service) ? "debug" : "warn";
      failing.add(service);
      context.log[level]({ service, err: error }, "a background service has failed");
    },
  };
}
