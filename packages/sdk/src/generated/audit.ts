// Written by setup/write-clients.ts from the declarations of the API's operations. Do not edit.

import type { AuditEvent } from "@skerry/contract/audit/audit-event";
import type { CallOptions, HttpClient } from "../http/http.ts";
import { everyItem, type Page, type PageOptions } from "../http/pages.ts";

export interface AuditFilter {
  /** Only this action, such as `sandbox.create`. One that there is not is refused. */
  readonly action?: string | undefined;
  /** Only what was done to this resource. */
  readonly resource_id?: string | undefined;
  /** Only what this user did. */
  readonly user_id?: string | undefined;
  /** Only what was done with this token. */
  readonly token_id?: string | undefined;
  /** Only events at or after this time, in ISO 8601. */
  readonly since?: string | undefined;
  /** Only events before this time, in ISO 8601. */
  readonly until?: string | undefined;
}

export class GeneratedAudit {
  protected readonly http: HttpClient;

  constructor(http: HttpClient) {
    this.http = http;
  }

  /**
   * List audit events. Who did what in the organization, newest first.
   *
   * Every call that changed something, every call that was forbidden, and what the platform did by
   * itself. Filters are combined.
   *
   * The log of a deleted organization can be read by the operator of the platform, with the scope
   * `platform:write`, for the organization that the request is for.
   *
   * Needs the scope `audit:read`.
   */
  list(filter: AuditFilter = {}, options: CallOptions = {}): AsyncGenerator<AuditEvent, void> {
    return everyItem((cursor) => this.page({ ...filter, cursor }, options));
  }

  /** Reads one page of `list`. */
  page(query: AuditFilter & PageOptions = {}, options: CallOptions = {}): Promise<Page<AuditEvent>> {
    return this.http.json<Page<AuditEvent>>(
      { method: "GET", path: "/v1/audit", query: { ...query } },
      options,
    );
  }
}
