// Has hosts remove images and frozen templates that nothing of theirs needs any more. A host itself knows what that is; it also does so when
// it starts. Build caches come with apps.

import type { Context } from "../context.ts";
import { hostsInReach } from "./host-rows.ts";
import type { BackgroundService } from "../background/background-service.ts";

/** Hosts that are asked at the same time: it is work for their disks, and no caller waits for it. */
const AT_ONCE = 16;

export function cacheCleanup(context: Context, everyMs: number): BackgroundService {
  return {
    name: "cache-cleanup",
    everyMs,
    async activate(stop) {
      const hosts = await hostsInReach(context.db);
      const left = hosts.values();
      let removed = 0;
      let failed = 0;
      const work = async () => {
        for (const host of left) {
          if (stop.aborted) return;
          try {
            removed += (await context.hosts.client(host.address).sweepCache(stop)).removed;
          } catch (error) {
            failed += 1;
            context.log.debug({ err: error, host_id: host.id }, "a host could not clean its cache");
          }
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, work));
      return { examined: hosts.length, changed: removed, failed, more: false };
    },
  };
}
