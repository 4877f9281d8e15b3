import type { Manifest } from "../manifest.ts";
import { layerStorer } from "./layer-storer.ts";

declare module "../context.ts" {
  interface Services {
    "layer-storer": true;
  }
}

export const objectStoreRoom = {
  services: [
    {
      name: "layer-storer",
      everyMs: 60_000,
      setting: "SKERRY_LAYER_STORER_INTERVAL_MS",
      isDueAtStart: true,
      make: layerStorer,
    },
  ],
} satisfies Manifest;
