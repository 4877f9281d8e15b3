import type { Snapshot, SnapshotListQuery } from "@skerry/contract/snapshots/snapshot";
import type { CallOptions, HttpClient } from "../http/http.ts";
import { everyItem, pageQuery, type Page, type PageOptions } from "../http/pages.ts";
import { snapshotPath } from "../http/paths.ts";

export interface SnapshotFilter {
  /** Only those of sandboxes, or of machines. */
  readonly of?: SnapshotListQuery["of"];
}

/** Snapshots of the organization, by id or name. `sandbox.snapshot()` takes one, and `machines.snapshot(id)`. */
export class Snapshots {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  /** Code `snapshot_not_found` where there is none, or where it belongs to another organization. */
  get(id: string, options: CallOptions = {}): Promise<Snapshot> {
    return this.#http.json<Snapshot>({ method: "GET", path: snapshotPath(id) }, options);
  }

  /** Every snapshot that passes the filter, newest first, read page by page as you go. */
  list(filter: SnapshotFilter = {}, options: CallOptions = {}): AsyncGenerator<Snapshot, void> {
    return everyItem((cursor) => this.page({ ...filter, cursor }, options));
  }

  /** One page of the list. */
  page(query: SnapshotFilter & PageOptions = {}, options: CallOptions = {}): Promise<Page<Snapshot>> {
    const all = { ...pageQuery(query), of: query.of };
    const call = { method: "GET", path: "/v1/snapshots", query: all } as const;
    return this.#http.json<Page<Snapshot>>(call, options);
  }

  /** What was made of it stays. */
  async delete(id: string, options: CallOptions = {}): Promise<void> {
    await this.#http.done({ method: "DELETE", path: snapshotPath(id) }, options);
  }
}
