// Machines that VMs run on. They are the operator's.

import type { Authority } from "@skerry/contract/joining/authority";
import type { Host } from "@skerry/contract/hosts/host";
import type { JoinToken } from "@skerry/contract/joining/join-token";
import type { CallOptions, HttpClient } from "../http/http.ts";
import { everyItem, pageQuery, type Page, type PageOptions } from "../http/pages.ts";
import { hostPath } from "../http/paths.ts";

export class Hosts {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  /** Every host, newest first. Needs the scope `hosts:read`. */
  list(options: CallOptions = {}): AsyncGenerator<Host, void> {
    return everyItem((cursor) => this.page({ cursor }, options));
  }

  /** One page of them. */
  page(query: PageOptions = {}, options: CallOptions = {}): Promise<Page<Host>> {
    return this.#http.json<Page<Host>>(
      { method: "GET", path: "/v1/hosts", query: pageQuery(query) },
      options,
    );
  }

  /** Code `host_not_found` where there is none. */
  get(id: string, options: CallOptions = {}): Promise<Host> {
    return this.#http.json<Host>({ method: "GET", path: hostPath(id) }, options);
  }

  /** It gets no new VMs, and those that it has are moved to other hosts. Answers at once; the host is in `maintenance` when the last one has left. */
  drain(id: string, options: CallOptions = {}): Promise<Host> {
    return this.#http.json<Host>({ method: "POST", path: `${hostPath(id)}/drain` }, options);
  }

  /** Takes a drain back, also one that has ended. Code `host_silent` where the host does not answer. */
  activate(id: string, options: CallOptions = {}): Promise<Host> {
    return this.#http.json<Host>({ method: "POST", path: `${hostPath(id)}/activate` }, options);
  }

  /** Ends its membership: it is trusted no more, and what ran on it is lost. Code `host_not_empty` where VMs are on it, unless `force`. */
  async remove(
    id: string,
    { force = false }: { readonly force?: boolean } = {},
    options: CallOptions = {},
  ): Promise<void> {
    const query = force ? { force: "true" } : {};
    await this.#http.done({ method: "DELETE", path: hostPath(id), query }, options);
  }

  /** The authority that certifies control and its hosts, and how far a change of it is. */
  authority(options: CallOptions = {}): Promise<Authority> {
    return this.#http.json<Authority>({ method: "GET", path: "/v1/authority" }, options);
  }

  /**
   * Begins to change the authority for a new one, or goes on with a change that is under way. It waits for every host; `leaveOffline`: not
   * for those that are offline, which have to join again. Answers at once; `authority()` tells how far it is.
   */
  rotateAuthority(
    { leaveOffline = false }: { readonly leaveOffline?: boolean } = {},
    options: CallOptions = {},
  ): Promise<Authority> {
    const json = leaveOffline ? { leave_offline: true } : {};
    return this.#http.json<Authority>({ method: "POST", path: "/v1/authority/rotate", json }, options);
  }

  /** A token by which one machine becomes a host within the next hour. It is in `token` of this answer and nowhere else. */
  createJoinToken(options: CallOptions = {}): Promise<JoinToken> {
    return this.#http.json<JoinToken>(
      { method: "POST", path: "/v1/hosts/join-tokens", json: {}, creates: true },
      options,
    );
  }
}
