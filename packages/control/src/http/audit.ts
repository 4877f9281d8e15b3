import { AuditList, AuditQuery } from "@skerry/contract/audit";
import type { Context } from "../services/context.ts";
import { listAudit } from "../services/audit.ts";
import { callerOf } from "./auth.ts";
import type { Routes } from "./routes.ts";
import { ref } from "./schemas.ts";

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
