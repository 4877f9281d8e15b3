import { AuditList, AuditQuery } from "@skerry/contract/audit";
import type { Context } from "../context.ts";
import { listAudit } from "../audit/audit-service.ts";
import { callerOf } from "../api/authenticate-hook.ts";
import type { Routes } from "../http/routes.ts";
import { ref } from "../http/schemas.ts";

export function auditRoutes(context: Context): Routes {
  return (app, _options, done) => {
    app.get(
      "/v1/audit",
      {
        schema: {
          operationId: "listAudit",
          tags: ["audit"],
          summary: "Who did what in the organization, newest first",
          description:
            "Every call that changed something, every call that was forbidden, and what the platform did by itself. " +
            "Filters are combined.",
          querystring: AuditQuery,
          response: { 200: ref(AuditList) },
        },
      },
      (request) => listAudit(context, callerOf(request), request.query),
    );
    done();
  };
}
