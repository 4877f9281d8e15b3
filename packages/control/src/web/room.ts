import type { Manifest } from "../manifest.ts";
import { dashboardRoutes } from "./dashboard-routes.ts";

export const webRoom = {
  routes: [dashboardRoutes],
} satisfies Manifest;
