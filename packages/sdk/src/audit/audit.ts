// Who did what in the organization.

import type { AuditEvent } from "@skerry/contract/audit/audit-event";
import type { AuditFormat } from "@skerry/contract/audit/audit-formats";
import { streamOf } from "../vms/files/files.ts";
import type { CallOptions, HttpClient } from "../http/http.ts";
import { everyItem, pageQuery, type Page, type PageOptions } from "../http/pages.ts";

/** Which events; those that fit all of it. Times are ISO 8601: `since` is included, `until` is not. */
export interface AuditFilter {
  readonly action?: string | undefined;
  readonly resource_id?: string | undefined;
  readonly user_id?: string | undefined;
  readonly token_id?: string | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

/** Needs the scope `audit:read` and the role `admin`; the log of a deleted organization the operator's scope `platform:write`. */
export class Audit {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  /** Every event that fits, newest first. */
  list(filter: AuditFilter = {}, options: CallOptions = {}): AsyncGenerator<AuditEvent, void> {
    return everyItem((cursor) => this.page({ ...filter, cursor }, options));
  }

  /**
   * All of them as a file of newline-delimited JSON (`ndjson`, the default) or of `csv`, as fast as it is read. One that breaks off is an
   * error of the stream.
   */
  export(
    { format, ...filter }: AuditFilter & { readonly format?: AuditFormat | undefined } = {},
    options: CallOptions = {},
  ): Promise<ReadableStream<Uint8Array>> {
    return streamOf(this.#http, "/v1/audit/export", options, { ...filter, format });
  }

  /** One page of them. */
  page(query: AuditFilter & PageOptions = {}, options: CallOptions = {}): Promise<Page<AuditEvent>> {
    const { limit, cursor, ...filter } = query;
    return this.#http.json<Page<AuditEvent>>(
      { method: "GET", path: "/v1/audit", query: { ...filter, ...pageQuery({ limit, cursor }) } },
      options,
    );
  }
}
