import { Readable } from "node:stream";
import type { AuditFormat } from "@skerry/contract/audit/audit-formats";
import { callerOf, organizationInHeader } from "../api/authenticate-hook.ts";
import { requestSignal } from "../api/request-signal.ts";
import { routes } from "../api/routes.ts";
import { exportAuditLog } from "../audit/audit-export.ts";
import { listAuditLog } from "../audit/audit-log.ts";
import { AuditExports } from "./audit-exports.ts";
import { auditOperations } from "./audit-operations.ts";
import { readableLog } from "./readable-log.ts";

const contentTypes: Readonly<Record<AuditFormat, string>> = {
  ndjson: "application/x-ndjson; charset=utf-8",
  csv: "text/csv; charset=utf-8; header=present",
};

export const auditRoutes = routes(auditOperations, (context) => {
  const exports = new AuditExports();
  return {
    listAudit: async (request) => {
      const orgId = await readableLog(context, callerOf(request), organizationInHeader(request));
      return listAuditLog(context, orgId, request.query);
    },
    exportAudit: async (request, reply) => {
      const caller = callerOf(request);
      const orgId = await readableLog(context, caller, organizationInHeader(request));
      using undo = new DisposableStack();
      undo.use(exports.take(caller.orgId));
      const { format = "ndjson" } = request.query;
      const text = Readable.from(await exportAuditLog(context, orgId, request.query), { objectMode: false });
      const gone = requestSignal(reply);
      // Its rights may end, or this process, before all is read.
      gone.addEventListener("abort", () => text.destroy(gone.reason as Error), { once: true });
      const place = undo.move();
      reply.raw.once("close", () => place.dispose());
      void reply
        .type(contentTypes[format])
        .header("content-disposition", `attachment; filename="audit.${format}"`);
      return reply.send(text);
    },
  };
});
