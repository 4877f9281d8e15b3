import { callerOf } from "../api/authenticate-hook.ts";
import { routes } from "../api/routes.ts";
import { statusOperations } from "./status-operations.ts";
import { getStatus } from "./status.ts";

export const statusRoutes = routes(statusOperations, (context) => ({
  getStatus: (request) => getStatus(context, callerOf(request)),
}));
