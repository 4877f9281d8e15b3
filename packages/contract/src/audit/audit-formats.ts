/** As what the audit log can be exported. No schema library in here, so that the command line starts fast. */
export const auditFormats = ["ndjson", "csv"] as const;
export type AuditFormat = (typeof auditFormats)[number];
