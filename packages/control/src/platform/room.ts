import type { Manifest } from "../manifest.ts";
import { vmReconciler } from "./vm-reconciler.ts";
import { idlePauser } from "./idle-pauser.ts";
import { expiredRowsSweeper } from "./expired-rows-sweeper.ts";
import { statusRoutes } from "./status-routes.ts";
import { backgroundServiceRoutes } from "./background-service-routes.ts";
import { metricsRoutes } from "./metrics-routes.ts";
import { healthRoutes } from "./health-routes.ts";

declare module "../context.ts" {
  interface Services {
    "vm-cleanup": true;
    "idle-pauser": true;
    sweeper: true;
  }
}

export const platformRoom = {
  routes: [statusRoutes, backgroundServiceRoutes, metricsRoutes, healthRoutes],
  ownActs: ["clock.step"],
  services: [
    {
      name: "vm-cleanup",
      everyMs: 30_000,
      setting: "SKERRY_VM_CLEANUP_INTERVAL_MS",
      isDueAtStart: true,
      make: vmReconciler,
    },
    { name: "idle-pauser", everyMs: 10_000, setting: "SKERRY_IDLE_PAUSER_INTERVAL_MS", make: idlePauser },
    { name: "sweeper", everyMs: 600_000, setting: "SKERRY_SWEEPER_INTERVAL_MS", make: expiredRowsSweeper },
  ],
} satisfies Manifest;
