// All background services with their periods, on one page.
//
//   host-heartbeat         10 s   asks every host how it is; also sees which of them are silent
//   host-health-monitor    15 s   hosts without a heartbeat for 30 s are offline, and what ran on them has failed
//   vm-cleanup             30 s   rows against microVMs; also whenever it is woken, or something's time comes
//   host-drain             10 s   draining hosts that are empty are in maintenance
//   sandbox-reaper         10 s   sandboxes past their expiry, and those that were paused for too long
//   idle-pauser            10 s   persistent sandboxes and machines that nothing has used for as long as they say
//   run-ender               5 s   commands whose output is kept and that have ended, and sandboxes that end with them
//   mover                  10 s   VMs on their way to another host, and those that have to leave; also whenever it is woken
//   template-spreader     10 s   templates on their way to hosts that lack them; also whenever it is woken
//   layer-storer           1 min  layers of templates that belong into the object store, and those that do not any more; also whenever it is woken
//   builder               10 s   builds under way, and microVMs of those that have ended; also whenever it is woken
//   host-certificates       1 min  certificates of hosts that are a day old
//   restart-manager     on demand  machines that wait for their next start, when the first one is due
//   cache-cleanup         10 min  images and frozen templates that nothing needs any more
//   build-cache-cleanup   10 min  results of steps that were not used for long, or that there is no room for; also whenever it is woken
//   proxy-health-checker   10 s   VMs behind routes; there are none before there is a proxy
//   usage-sampler         30 s   what organizations have, for its history
//   audit-sweeper         10 min  audit events that are older than they are kept
//   sweeper               10 min  idempotency keys and rate buckets of yesterday, and what else is old
//
// Beside them each replica watches the database's clock.

import { hostname } from "node:os";
import type { Config } from "./config.ts";
import { countRun } from "../metrics/count-run.ts";
import type { Context, ServiceName } from "../context.ts";
import { fencedDatabase } from "../db/database.ts";
import type { Fence } from "../db/fence.ts";
import { auditSweeper } from "../audit/audit-sweeper.ts";
import type { Wakeups } from "../background/wakeups.ts";
import { cacheCleanup } from "../hosts/cache-cleanup.ts";
import { drainFinisher } from "../moves/drain-finisher.ts";
import { heartbeat } from "../hosts/heartbeat.ts";
import { hostCertificateRenewal } from "../joining/host-certificate-renewal.ts";
import { hostHealthMonitor } from "../hosts/host-health-monitor.ts";
import { Leases } from "../background/lease.ts";
import { buildCacheCleanup } from "../builds/build-cache-cleanup.ts";
import { builder } from "../builds/builder.ts";
import { layerStorer } from "../object-store/layer-storer.ts";
import { mover } from "../moves/mover.ts";
import { templateSpreader } from "../moves/template-spreader.ts";
import { ClockWatch } from "../platform/clock-watch.ts";
import { proxyHealthChecker } from "../platform/proxy-health.ts";
import { restartQueue } from "../machines/restart-queue.ts";
import { expiredRowsSweeper } from "./expired-rows-sweeper.ts";
import { runEnder } from "../sandboxes/run-ender.ts";
import { idlePauser } from "../platform/idle-pauser.ts";
import { sandboxReaper } from "../sandboxes/sandbox-reaper.ts";
import {
  runService,
  type BackgroundService,
  type FencedService,
  type Observer,
} from "../background/background-service.ts";
import { usageSampler } from "../usage/usage-sampler.ts";
import { vmReconciler } from "../platform/vm-reconciler.ts";

type Settings = Pick<
  Config,
  | "hostSocket"
  | "heartbeatIntervalMs"
  | "healthMonitorIntervalMs"
  | "vmCleanupIntervalMs"
  | "cacheCleanupIntervalMs"
  | "proxyCheckIntervalMs"
  | "drainIntervalMs"
  | "reaperIntervalMs"
  | "idlePauserIntervalMs"
  | "runEnderIntervalMs"
  | "moverIntervalMs"
  | "templateSpreaderIntervalMs"
  | "layerStorerIntervalMs"
  | "builderIntervalMs"
  | "sweeperIntervalMs"
  | "certificatesIntervalMs"
  | "usageSamplerIntervalMs"
  | "auditKeptDays"
  | "pausedKeptDays"
>;

/** Every service with a database of its own that is fenced by the service's lease. */
export function allServices(context: Context, config: Settings): FencedService[] {
  const fenced = (make: (context: Context) => BackgroundService): FencedService => {
    const fence: Fence = { held: undefined };
    return { fence, service: make({ ...context, db: fencedDatabase(context.db, fence) }) };
  };
  return [
    fenced((own) => heartbeat(own, { hostSocket: config.hostSocket, everyMs: config.heartbeatIntervalMs })),
    fenced((own) => hostHealthMonitor(own, config.healthMonitorIntervalMs)),
    fenced((own) => vmReconciler(own, config.vmCleanupIntervalMs)),
    fenced((own) => drainFinisher(own, config.drainIntervalMs)),
    fenced((own) => sandboxReaper(own, config.reaperIntervalMs, config.pausedKeptDays)),
    fenced((own) => idlePauser(own, config.idlePauserIntervalMs)),
    fenced((own) => runEnder(own, config.runEnderIntervalMs)),
    fenced((own) => mover(own, config.moverIntervalMs)),
    fenced((own) => templateSpreader(own, config.templateSpreaderIntervalMs)),
    fenced((own) => layerStorer(own, config.layerStorerIntervalMs)),
    fenced((own) => builder(own, config.builderIntervalMs)),
    fenced((own) => hostCertificateRenewal(own, config.certificatesIntervalMs)),
    fenced((own) => restartQueue(own)),
    fenced((own) => cacheCleanup(own, config.cacheCleanupIntervalMs)),
    fenced((own) => buildCacheCleanup(own, config.cacheCleanupIntervalMs)),
    fenced(() => proxyHealthChecker(config.proxyCheckIntervalMs)),
    fenced((own) => usageSampler(own, config.usageSamplerIntervalMs)),
    fenced((own) => auditSweeper(own, config.sweeperIntervalMs, config.auditKeptDays)),
    fenced((own) => expiredRowsSweeper(own, config.sweeperIntervalMs)),
  ];
}

/** What should not wait for its time where this process has come after one that died. */
const RUNG_AT_START: readonly ServiceName[] = [
  "host-heartbeat",
  "vm-cleanup",
  "restart-manager",
  "mover",
  "template-spreader",
  "layer-storer",
  "builder",
];

/** Watches the database's clock, and runs all services, whenever it is their turn on this replica. Resolves
 *  after `stop`, when all have ended. */
export async function runSchedule(
  context: Context,
  config: Settings,
  { wakeups, stop }: { readonly wakeups: Wakeups; readonly stop: AbortSignal },
): Promise<void> {
  const leases = newLeases(context);
  const run = { stop, leases, observer: observerOf(context) };
  for (const service of RUNG_AT_START) context.wake(service);
  await Promise.all([
    new ClockWatch(context).run(stop),
    ...allServices(context, config).map((fenced) => runService(fenced, wakeups.of(fenced.service.name), run)),
  ]);
}

/** The holder's name tells people which process it was; the token of a lease is what counts. */
export function newLeases({ db }: Context): Leases {
  return new Leases(db, `${hostname()}:${process.pid}`);
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
