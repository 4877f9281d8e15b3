import { callerOf } from "../api/authenticate-hook.ts";
import { routes } from "../api/routes.ts";
import { changeOrganizationLimits, limitsReport, organizationLimitsReport } from "./limits-report.ts";
import { limitOperations } from "./limit-operations.ts";

export const limitRoutes = routes(limitOperations, (context) => ({
  getLimits: (request) => limitsReport(context, callerOf(request).orgId),
  getOrganizationLimits: (request) => organizationLimitsReport(context, request.params.id),
  setOrganizationLimits: (request) => changeOrganizationLimits(context, request.params.id, request.body),
}));
