import { callerOf } from "../api/authenticate-hook.ts";
import { routes } from "../api/routes.ts";
import { listAuditLog } from "../audit/audit-log.ts";
import { auditOperations } from "./audit-operations.ts";

export const auditRoutes = routes(auditOperations, (context) => ({
  listAudit: (request) => listAuditLog(context, callerOf(request), request.query),
}));
