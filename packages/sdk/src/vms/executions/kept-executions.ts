import type { KeptExecution, KeptOutput } from "@skerry/contract/vms/kept-execution";
import type { CallOptions, HttpClient } from "../../http/http.ts";
import { everyItem, pageQuery, type Page, type PageOptions } from "../../http/pages.ts";
import { keptExecutionPath } from "../../http/paths.ts";

export interface KeptOutputOptions extends CallOptions {
  /**
   * `base64`: `stdout` and `stderr` are the exact bytes. Default: text, in which bytes that are not UTF-8
   * become U+FFFD.
   */
  readonly encoding?: "utf8" | "base64" | undefined;
}

/**
 * Commands that were started with `keep_output` or `destroy_sandbox`: while they run, and for a day after
 * their end.
 */
export class KeptExecutions {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  /** With its output. Code `execution_not_found` where there is none, or where it ended long ago. */
  get(id: string, { encoding, ...options }: KeptOutputOptions = {}): Promise<KeptOutput> {
    const call = { method: "GET", path: keptExecutionPath(id), query: { encoding } } as const;
    return this.#http.json<KeptOutput>(call, options);
  }

  /** Every one, newest first, read page by page as you go. */
  list(options: CallOptions = {}): AsyncGenerator<KeptExecution, void> {
    return everyItem((cursor) => this.page({ cursor }, options));
  }

  /** One page of the list. */
  page(page: PageOptions = {}, options: CallOptions = {}): Promise<Page<KeptExecution>> {
    const call = { method: "GET", path: "/v1/executions", query: pageQuery(page) } as const;
    return this.#http.json<Page<KeptExecution>>(call, options);
  }
}
