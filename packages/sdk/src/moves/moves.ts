// VMs on their way from one host to another. They are the operator's.

import type { Move, MoveListQuery } from "@skerry/contract/moves/move";
import type { CallOptions, HttpClient } from "../http/http.ts";
import { everyItem, pageQuery, type Page, type PageOptions } from "../http/pages.ts";
import { movePath } from "../http/paths.ts";

/** `host`: from it, or to it. `vm`: the id of a sandbox, a machine or a snapshot. */
export type MoveFilter = Pick<MoveListQuery, "status" | "host" | "vm">;

export class Moves {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  /** Every move that is under way, or ended within a day, newest first. Needs the scope `hosts:read`. */
  list(filter: MoveFilter = {}, options: CallOptions = {}): AsyncGenerator<Move, void> {
    return everyItem((cursor) => this.page({ ...filter, cursor }, options));
  }

  /** One page of them. */
  page(query: MoveFilter & PageOptions = {}, options: CallOptions = {}): Promise<Page<Move>> {
    const { limit, cursor, ...filter } = query;
    return this.#http.json<Page<Move>>(
      { method: "GET", path: "/v1/moves", query: { ...filter, ...pageQuery({ limit, cursor }) } },
      options,
    );
  }

  /** Code `move_not_found` where there is none. */
  get(id: string, options: CallOptions = {}): Promise<Move> {
    return this.#http.json<Move>({ method: "GET", path: movePath(id) }, options);
  }
}
