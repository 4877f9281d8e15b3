// Written by setup/write-clients.ts from the declarations of the API's operations. Do not edit.

import type { Move } from "@skerry/contract/moves/move";
import { followResource } from "../events/follow-resource.ts";
import { waitForStatus, type Status, type WaitOptions } from "../events/wait-for-status.ts";
import type { CallOptions, HttpClient } from "../http/http.ts";
import { everyItem, type Page, type PageOptions } from "../http/pages.ts";
import { segment } from "../http/paths.ts";

export interface MoveFilter {
  /** Only moves with this status. */
  readonly status?:
    | "preparing"
    | "sending"
    | "resuming"
    | "canceling"
    | "done"
    | "canceled"
    | "failed"
    | undefined;
  /** Only moves from this host, or to it, by id. */
  readonly host?: string | undefined;
  /** Only those of this sandbox, machine or snapshot, by id. */
  readonly vm?: string | undefined;
}

export class Moves {
  protected readonly http: HttpClient;

  constructor(http: HttpClient) {
    this.http = http;
  }

  /**
   * List moves. VMs and snapshots on their way from one host to another, and moves that ended
   * within a day, newest first.
   *
   * Needs the scope `hosts:read`.
   */
  list(filter: MoveFilter = {}, options: CallOptions = {}): AsyncGenerator<Move, void> {
    return everyItem((cursor) => this.page({ ...filter, cursor }, options));
  }

  /** Reads one page of `list`. */
  page(query: MoveFilter & PageOptions = {}, options: CallOptions = {}): Promise<Page<Move>> {
    return this.http.json<Page<Move>>({ method: "GET", path: "/v1/moves", query: { ...query } }, options);
  }

  /**
   * Get a move.
   *
   * Needs the scope `hosts:read`.
   *
   * Errors of its own: `move_not_found`.
   */
  get(id: string, options: CallOptions = {}): Promise<Move> {
    return this.http.json<Move>({ method: "GET", path: `/v1/moves/${segment(id)}` }, options);
  }

  /** Gives the move as it is now, and again with each change of it, until `signal` aborts. */
  follow(id: string, options: CallOptions = {}): AsyncGenerator<Move, void> {
    return followResource(this.http, "move", { id: id, read: (id, own) => this.get(id, own) }, options);
  }

  /**
   * Resolves when its `status` is `until`, or one of them. Throws `SkerryStatusError` where it has
   * ended in another one.
   */
  wait(id: string, until: Status<Move>, options: WaitOptions = {}): Promise<Move> {
    return waitForStatus("move", { id: id, read: (id, own) => this.get(id, own) }, until, options);
  }
}
