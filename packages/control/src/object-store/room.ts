import type { Manifest } from "../manifest.ts";
import { layerStorer } from "./layer-storer.ts";

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
