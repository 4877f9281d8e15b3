import { sweepUsage } from "./usage.ts";
import type { Manifest } from "../manifest.ts";
import { usageSampler } from "./usage-sampler.ts";
import { usageRoutes } from "./usage-routes.ts";

declare module "../context.ts" {
  interface Services {
    "usage-sampler": true;
  }
}

export const usageRoom = {
  routes: [usageRoutes],
  services: [
    {
      name: "usage-sampler",
      everyMs: 30_000,
      setting: "SKERRY_USAGE_SAMPLER_INTERVAL_MS",
      make: usageSampler,
    },
  ],
  sweeps: { sweepUsage },
} satisfies Manifest;
