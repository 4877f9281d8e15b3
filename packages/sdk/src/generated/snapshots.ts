// Written by setup/write-clients.ts from the declarations of the API's operations. Do not edit.

import type { Snapshot } from "@skerry/contract/snapshots/snapshot";
import { followResource } from "../events/follow-resource.ts";
import { waitForStatus, type Status, type WaitOptions } from "../events/wait-for-status.ts";
import type { CallOptions, HttpClient } from "../http/http.ts";
import { everyItem, type Page, type PageOptions } from "../http/pages.ts";
import { segment } from "../http/paths.ts";

export interface SnapshotFilter {
  /** Only snapshots of sandboxes, or of machines. */
  readonly of?: "sandbox" | "machine" | undefined;
}

export class Snapshots {
  protected readonly http: HttpClient;

  constructor(http: HttpClient) {
    this.http = http;
  }

  /**
   * List snapshots. The snapshots of the organization, newest first: those of sandboxes for a token
   * with `sandboxes:read`, and those of machines for one with `machines:read`.
   *
   * Needs the scope `sandboxes:read`.
   */
  list(filter: SnapshotFilter = {}, options: CallOptions = {}): AsyncGenerator<Snapshot, void> {
    return everyItem((cursor) => this.page({ ...filter, cursor }, options));
  }

  /** Reads one page of `list`. */
  page(query: SnapshotFilter & PageOptions = {}, options: CallOptions = {}): Promise<Page<Snapshot>> {
    return this.http.json<Page<Snapshot>>(
      { method: "GET", path: "/v1/snapshots", query: { ...query } },
      options,
    );
  }

  /**
   * Get a snapshot.
   *
   * Needs the scope `sandboxes:read`.
   *
   * Errors of its own: `snapshot_not_found`.
   */
  get(id: string, options: CallOptions = {}): Promise<Snapshot> {
    return this.http.json<Snapshot>({ method: "GET", path: `/v1/snapshots/${segment(id)}` }, options);
  }

  /**
   * Delete a snapshot. What was made of it stays, and so do the snapshots that have it as their
   * parent.
   *
   * Needs the scope `sandboxes:write`.
   *
   * Errors of its own: `snapshot_not_found`.
   */
  async delete(id: string, options: CallOptions = {}): Promise<void> {
    await this.http.done({ method: "DELETE", path: `/v1/snapshots/${segment(id)}` }, options);
  }

  /** Gives the snapshot as it is now, and again with each change of it, until `signal` aborts. */
  follow(id: string, options: CallOptions = {}): AsyncGenerator<Snapshot, void> {
    return followResource(this.http, "snapshot", { id: id, read: (id, own) => this.get(id, own) }, options);
  }

  /**
   * Resolves when its `status` is `until`, or one of them. Throws `SkerryStatusError` where it has
   * ended in another one.
   */
  wait(id: string, until: Status<Snapshot>, options: WaitOptions = {}): Promise<Snapshot> {
    return waitForStatus("snapshot", { id: id, read: (id, own) => this.get(id, own) }, until, options);
  }
}
