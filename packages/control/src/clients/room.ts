import type { Manifest } from "../manifest.ts";
import { clientRoutes } from "./client-routes.ts";

export const clientsRoom = {
  routes: [clientRoutes],
} satisfies Manifest;
