// Written by setup/write-clients.ts from the declarations of the API's operations. Do not edit.

import type { CacheEntry, ClearedCache } from "@skerry/contract/builds/build-cache";
import type { CallOptions, HttpClient } from "../http/http.ts";
import { everyItem, type Page, type PageOptions } from "../http/pages.ts";

export class Cache {
  protected readonly http: HttpClient;

  constructor(http: HttpClient) {
    this.http = http;
  }

  /**
   * List the build cache. Results of steps, from which the organization's next builds begin, newest
   * first. Those that were not used for a week are removed.
   *
   * Needs the scope `templates:read`.
   */
  list(options: CallOptions = {}): AsyncGenerator<CacheEntry, void> {
    return everyItem((cursor) => this.page({ cursor }, options));
  }

  /** Reads one page of `list`. */
  page(query: PageOptions = {}, options: CallOptions = {}): Promise<Page<CacheEntry>> {
    return this.http.json<Page<CacheEntry>>(
      { method: "GET", path: "/v1/cache", query: { ...query } },
      options,
    );
  }

  /**
   * Clear the build cache. All of it but what a build that is under way begins on. Templates stay.
   *
   * Needs the scope `templates:write`.
   */
  clear(options: CallOptions = {}): Promise<ClearedCache> {
    return this.http.json<ClearedCache>({ method: "DELETE", path: "/v1/cache" }, options);
  }
}
