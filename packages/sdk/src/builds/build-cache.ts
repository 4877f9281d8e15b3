// What steps of builds have left, for the next builds to begin from.

import type { CacheEntry, ClearedCache } from "@skerry/contract/builds/build-cache";
import type { CallOptions, HttpClient } from "../http/http.ts";
import { everyItem, pageQuery, type Page, type PageOptions } from "../http/pages.ts";

/** The build cache of the organization. */
export class BuildCache {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  /** All of it, newest first, read page by page as you go. */
  list(options: CallOptions = {}): AsyncGenerator<CacheEntry, void> {
    return everyItem((cursor) => this.page({ cursor }, options));
  }

  /** One page of the list. */
  page(query: PageOptions = {}, options: CallOptions = {}): Promise<Page<CacheEntry>> {
    return this.#http.json<Page<CacheEntry>>(
      { method: "GET", path: "/v1/cache", query: pageQuery(query) },
      options,
    );
  }

  /** Removes all of it but what a build that is under way begins on. Templates stay. */
  clear(options: CallOptions = {}): Promise<ClearedCache> {
    return this.#http.json<ClearedCache>({ method: "DELETE", path: "/v1/cache" }, options);
  }
}
