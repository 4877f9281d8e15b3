// Who did what in the organization.

import type { AuditFormat } from "@skerry/contract/audit/audit-formats";
import { GeneratedAudit, type AuditFilter } from "../generated/audit.ts";
import type { CallOptions } from "../http/http.ts";
import { streamOf } from "../vms/files/files.ts";

/** Needs the scope `audit:read` and the role `admin`; the log of a deleted organization the operator's scope `platform:write`. */
export class Audit extends GeneratedAudit {
  /**
   * All of them as a file of newline-delimited JSON (`ndjson`, the default) or of `csv`, as fast as it is read. One that breaks off is an
   * error of the stream.
   */
  export(
    { format, ...filter }: AuditFilter & { readonly format?: AuditFormat | undefined } = {},
    options: CallOptions = {},
  ): Promise<ReadableStream<Uint8Array>> {
    return streamOf(this.http, "/v1/audit/export", options, { ...filter, format });
  }
}
