import { callerOf } from "../api/authenticate-hook.ts";
import { routes } from "../api/routes.ts";
import { limitOperations } from "./limit-operations.ts";
import { limitsReport } from "./quotas.ts";

export const limitRoutes = routes(limitOperations, (context) => ({
  getLimits: (request) => limitsReport(context, callerOf(request)),
}));
