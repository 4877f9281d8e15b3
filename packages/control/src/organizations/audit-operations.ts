import { Type } from "typebox";
import { AuditExportQuery, AuditList, AuditQuery } from "@skerry/contract/audit/audit-event";
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
      "The log of a deleted organization can be read by the operator of the platform, with the scope `platform:write`, for the organization that the request is for.",
    query: AuditQuery,
    answers: { 200: AuditList },
    access: { scope: "audit:read", role: "admin", rate: "read", asOperator: "platform:write" },
    audit: { action: "audit.list", resource: "audit" },
    errors: [],
  },
  exportAudit: {
    surface: "v1",
    method: "GET",
    path: "/v1/audit/export",
    tag: "audit",
    summary: "Export audit events",
    description:
      "All that fit the filters, newest first, as a file of newline-delimited JSON or of CSV. " +
      "It comes as fast as it is read; one that breaks off closes the connection without an end. An organization may have two at once.",
    query: AuditExportQuery,
    answers: {
      200: {
        description: "The events.",
        content: {
          "application/x-ndjson": { schema: Type.String() },
          "text/csv": { schema: Type.String() },
        },
      },
    },
    streams: true,
    access: { scope: "audit:read", role: "admin", rate: "expensive", asOperator: "platform:write" },
    audit: { action: "audit.export", resource: "audit" },
    errors: ["too_many_streams"],
  },
} as const satisfies Operations;
