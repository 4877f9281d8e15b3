// One run of one background service, for an operator who wants to see what it does. It takes the service's lease as a replica does.

import { setTimeout as sleep } from "node:timers/promises";
import { makeLeaseDue } from "./make-lease-due.ts";
import type { Context } from "../context.ts";
import type { Leases } from "./lease.ts";
import { pauseAfter, type FencedService, type Report } from "./background-service.ts";

const LOOK_EVERY_MS = 250;

/** Waits until no other process runs it. */
export async function runOnce(
  context: Context,
  { service, fence }: FencedService,
  { leases, stop }: { readonly leases: Leases; readonly stop: AbortSignal },
): Promise<Report> {
  for (;;) {
    stop.throwIfAborted();
    await makeLeaseDue(context.db, service.name);
    const lease = await leases.take(service.name, fence, stop);
    if ("waitMs" in lease) {
      await sleep(LOOK_EVERY_MS, undefined, { signal: stop });
      continue;
    }
    using held = lease;
    const startedMs = performance.now();
    const report = await service.activate(held.signal);
    const { examined, changed, failed } = report;
    const run = { duration_ms: performance.now() - startedMs, examined, changed, failed };
    await held.finish(run, pauseAfter(service, report));
    return report;
  }
}
