// Keeps the build cache within its bounds. What was not used for a week goes, and then what was used longest ago, until each organization and each
// host is within its budget, and a tenth of each host's disk is free. What a build under way begins on stays. A layer that a template stands on stays too: its host sees to that.

import { reportOf, type BackgroundService, type Report } from "../background/background-service.ts";
import type { Context } from "../context.ts";
import { hostAddress, hostsInReach } from "../hosts/host-rows.ts";
import {
  cachedOnHost,
  cachedToDelete,
  dropCached,
  evictUnused,
  forgetCached,
  hostsOfCache,
  keepWithinBudgets,
  makeRoomOnDisks,
} from "./cache-store.ts";

const UNUSED_DAYS = 7;
const BATCH = 64;

export function buildCacheCleanup(context: Context, everyMs: number): BackgroundService {
  return {
    name: "build-cache-cleanup",
    everyMs,
    async activate(stop) {
      const { db, limits } = context;
      await dropLost(context, stop);
      await evictUnused(db, UNUSED_DAYS);
      await keepWithinBudgets(db, limits);
      const { entries } = await makeRoomOnDisks(db);
      const report = await removeEvicted(context, stop);
      // Hosts remove layers when they are asked, and not with the entry.
      if (entries > 0) context.wake("cache-cleanup");
      return report;
    },
  };
}

/** What hosts do not have any more is not looked for there. A host that does not answer is not judged. */
async function dropLost({ db, hosts, log }: Context, stop: AbortSignal): Promise<void> {
  const having = new Set(await hostsOfCache(db));
  for (const { id, address } of (await hostsInReach(db)).filter((host) => having.has(host.id))) {
    // Before the host is asked: what is put there meanwhile is in no row of these.
    const rows = await cachedOnHost(db, id);
    try {
      const { items } = await hosts.client(address).templates.list(stop);
      const whole = new Set(items.filter(({ missing }) => missing.length === 0).map((item) => item.id));
      await dropCached(
        db,
        rows.filter((row) => !whole.has(row)),
      );
    } catch (error) {
      if (stop.aborted) throw error;
      log.debug({ err: error, host_id: id }, "a host did not say what it has of the build cache");
    }
  }
}

async function removeEvicted({ db, hosts, metrics }: Context, stop: AbortSignal): Promise<Report> {
  const found = await cachedToDelete(db, BATCH);
  const results = await Promise.allSettled(
    found.map(async ({ id, host_id, bytes }) => {
      const address = await hostAddress(db, host_id);
      // With a host that has been removed it is gone.
      if (address !== undefined) await hosts.client(address).templates.delete(id, stop);
      await forgetCached(db, id);
      metrics.cacheEvictions.add(1);
      metrics.cacheFreed.add(bytes);
    }),
  );
  const isRest = found.length === BATCH && results.some(({ status }) => status === "fulfilled");
  return reportOf(results, { examined: found.length, more: isRest });
}
