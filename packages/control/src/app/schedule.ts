// The background services of all rooms, each when it is its turn on this replica. Beside them each replica
// watches the database's clock.

import { hostname } from "node:os";
import type { Context } from "../context.ts";
import { Leases } from "../background/lease.ts";
import {
  runService,
  type FencedService,
  type Observer,
  type ServiceSettings,
} from "../background/background-service.ts";
import type { Wakeups } from "../background/wakeups.ts";
import { fencedDatabase } from "../db/database.ts";
import type { Fence } from "../db/fence.ts";
import { countRun } from "../metrics/count-run.ts";
import { ClockWatch } from "../platform/clock-watch.ts";
import { declaredServices } from "./rooms.ts";
import type { Periods } from "./config.ts";

interface Settings extends ServiceSettings {
  readonly periods: Periods;
}

/** Every service with a database of its own that is fenced by the service's lease. */
export function allServices(context: Context, settings: Settings): FencedService[] {
  return declaredServices.map(({ name, everyMs, make }) => {
    const fence: Fence = { held: undefined };
    const own = { ...context, db: fencedDatabase(context.db, fence) };
    return { fence, service: make(own, settings.periods[name] ?? everyMs, settings) };
  });
}

/** Watches the database's clock, and runs all services, whenever it is their turn on this replica. Resolves
 *  after `stop`, when all have ended. */
export async function runSchedule(
  context: Context,
  settings: Settings,
  { wakeups, stop }: { readonly wakeups: Wakeups; readonly stop: AbortSignal },
): Promise<void> {
  const leases = newLeases(context);
  const run = { stop, leases, observer: observerOf(context) };
  // Services that should not wait for their time where this process has come after one that died.
  for (const { name, isDueAtStart } of declaredServices) if (isDueAtStart === true) context.wake(name);
  await Promise.all([
    new ClockWatch(context).run(stop),
    ...allServices(context, settings).map((fenced) =>
      runService(fenced, wakeups.of(fenced.service.name), run),
    ),
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
