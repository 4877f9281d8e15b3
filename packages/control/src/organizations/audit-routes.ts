import { callerOf } from "../api/authenticate-hook.ts";
import { routes } from "../api/routes.ts";
import { listAudit } from "../audit/audit-service.ts";
import { auditOperations } from "./audit-operations.ts";

export const auditRoutes = routes(auditOperations, (context) => ({
  listAudit: (request) => listAudit(context, callerOf(request), request.query),
}));
