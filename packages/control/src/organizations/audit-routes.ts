import { callerOf, organizationInHeader } from "../api/authenticate-hook.ts";
import { routes } from "../api/routes.ts";
import { listAuditLog } from "../audit/audit-log.ts";
import { auditOperations } from "./audit-operations.ts";
import { readableLog } from "./readable-log.ts";

export const auditRoutes = routes(auditOperations, (context) => ({
  listAudit: async (request) => {
    const orgId = await readableLog(context, callerOf(request), organizationInHeader(request));
    return listAuditLog(context, orgId, request.query);
  },
}));
