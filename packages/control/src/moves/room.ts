import { sweepMoves } from "./move-store.ts";
import type { Manifest } from "../manifest.ts";
import { drainFinisher } from "./drain-finisher.ts";
import { mover } from "./mover.ts";
import { templateSpreader } from "./template-spreader.ts";
import { drainRoutes } from "./drain-routes.ts";
import { moveRoutes } from "./move-routes.ts";

declare module "../context.ts" {
  interface Services {
    "host-drain": true;
    mover: true;
    "template-spreader": true;
  }
}

export const movesRoom = {
  routes: [drainRoutes, moveRoutes],
  ownActs: ["host.drained", "machine.move", "sandbox.move", "snapshot.move"],
  services: [
    { name: "host-drain", everyMs: 10_000, setting: "SKERRY_DRAIN_INTERVAL_MS", make: drainFinisher },
    { name: "mover", everyMs: 10_000, setting: "SKERRY_MOVER_INTERVAL_MS", isDueAtStart: true, make: mover },
    {
      name: "template-spreader",
      everyMs: 10_000,
      setting: "SKERRY_TEMPLATE_SPREADER_INTERVAL_MS",
      isDueAtStart: true,
      make: templateSpreader,
    },
  ],
  sweeps: { sweepMoves },
} satisfies Manifest;
