import { routes } from "../api/routes.ts";
import { healthOperations } from "./health-operations.ts";

/** Says that this process answers. It asks no other process: a slow database must not make a supervisor restart us. */
export const healthRoutes = routes(healthOperations, () => ({
  getHealth: () => ({ status: "healthy" }) as const,
}));
