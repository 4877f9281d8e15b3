// Written by setup/write-clients.ts from the declarations of the API's operations. Do not edit.

import type { KeptExecution } from "@skerry/contract/vms/kept-execution";
import type { CallOptions, HttpClient } from "../http/http.ts";
import { everyItem, type Page, type PageOptions } from "../http/pages.ts";

export class GeneratedExecutions {
  protected readonly http: HttpClient;

  constructor(http: HttpClient) {
    this.http = http;
  }

  /**
   * List executions whose output is kept. Those that were started with `keep_output` or
   * `destroy_sandbox`, newest first: while they run, and for a day after they have ended, also when
   * their sandbox is gone. An organization keeps 1,000 that have ended, and 64 MiB of their output.
   *
   * Needs the scope `sandboxes:execute`.
   */
  list(options: CallOptions = {}): AsyncGenerator<KeptExecution, void> {
    return everyItem((cursor) => this.page({ cursor }, options));
  }

  /** Reads one page of `list`. */
  page(query: PageOptions = {}, options: CallOptions = {}): Promise<Page<KeptExecution>> {
    return this.http.json<Page<KeptExecution>>(
      { method: "GET", path: "/v1/executions", query: { ...query } },
      options,
    );
  }
}
