import type { Manifest } from "../manifest.ts";
import { cacheCleanup } from "./cache-cleanup.ts";
import { heartbeat } from "./heartbeat.ts";
import { hostHealthMonitor } from "./host-health-monitor.ts";
import { hostRoutes } from "./host-routes.ts";

declare module "../context.ts" {
  interface Services {
    "host-heartbeat": true;
    "host-health-monitor": true;
    "cache-cleanup": true;
  }
}

export const hostsRoom = {
  routes: [hostRoutes],
  ownActs: ["host.offline"],
  services: [
    {
      name: "host-heartbeat",
      everyMs: 10_000,
      setting: "SKERRY_HEARTBEAT_INTERVAL_MS",
      isDueAtStart: true,
      make: (own, everyMs, { hostSocket }) => heartbeat(own, { hostSocket, everyMs }),
    },
    {
      name: "host-health-monitor",
      everyMs: 15_000,
      setting: "SKERRY_HEALTH_MONITOR_INTERVAL_MS",
      make: hostHealthMonitor,
    },
    {
      name: "cache-cleanup",
      everyMs: 600_000,
      setting: "SKERRY_CACHE_CLEANUP_INTERVAL_MS",
      make: cacheCleanup,
    },
  ],
} satisfies Manifest;
