import type { Manifest } from "../manifest.ts";
import { limitRoutes } from "./limit-routes.ts";

export const capacityRoom = {
  routes: [limitRoutes],
} satisfies Manifest;
