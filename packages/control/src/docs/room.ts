import type { Manifest } from "../manifest.ts";
import { docsRoutes, openapiRoutes } from "./docs-routes.ts";

export const docsRoom = {
  routes: [docsRoutes, openapiRoutes],
} satisfies Manifest;
