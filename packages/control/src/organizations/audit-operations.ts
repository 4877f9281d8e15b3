import { AuditList, AuditQuery } from "@skerry/contract/audit/audit-event";
import type { Operations } from "../api/operation.ts";

export const auditOperations = {
  listAudit: {
    surface: "v1",
    method: "GET",
    path: "/v1/audit",
    tag: "audit",
    summary: "List audit events",
    description:
      "Who did what in the organization, newest first.\n\n" +
      "Every call that changed something, every call that was forbidden, and what the platform did by itself. " +
      "Filters are combined.\n\n" +
      "The log of a deleted organization can be read by the operator of the platform, with the scope `platform:write` and the organization in `X-Org-ID`.",
    query: AuditQuery,
    answers: { 200: AuditList },
    access: { scope: "audit:read", role: "admin", rate: "read", asOperator: "platform:write" },
    audit: { action: "audit.list", resource: "audit" },
    errors: [],
  },
} as const satisfies Operations;
