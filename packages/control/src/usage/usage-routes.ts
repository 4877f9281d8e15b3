import { callerOf } from "../api/authenticate-hook.ts";
import { routes } from "../api/routes.ts";
import { usageOperations } from "./usage-operations.ts";
import { readUsage } from "./usage.ts";

export const usageRoutes = routes(usageOperations, (context) => ({
  getUsage: (request) => readUsage(context, callerOf(request), request.query),
}));
