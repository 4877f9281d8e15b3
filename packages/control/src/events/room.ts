import type { Manifest } from "../manifest.ts";
import { eventRoutes } from "./event-routes.ts";

export const eventsRoom = {
  routes: [eventRoutes],
} satisfies Manifest;
