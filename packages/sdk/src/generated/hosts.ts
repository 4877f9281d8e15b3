// Written by setup/write-clients.ts from the declarations of the API's operations. Do not edit.

import type { Host } from "@skerry/contract/hosts/host";
import type { Authority, AuthorityRotateRequest } from "@skerry/contract/joining/authority";
import type { JoinToken } from "@skerry/contract/joining/join-token";
import { followResource } from "../events/follow-resource.ts";
import { waitForStatus, type Status, type WaitOptions } from "../events/wait-for-status.ts";
import { keyHeader, type CallOptions, type CreateOptions, type HttpClient } from "../http/http.ts";
import { everyItem, type Page, type PageOptions } from "../http/pages.ts";
import { segment } from "../http/paths.ts";

export interface RemoveHostQuery {
  /**
   * Also with sandboxes, machines and snapshots on it, and with templates that no other host has;
   * they are lost.
   */
  readonly force?: boolean | undefined;
}

export class Hosts {
  protected readonly http: HttpClient;

  constructor(http: HttpClient) {
    this.http = http;
  }

  /**
   * List hosts. The machines that VMs run on, newest first.
   *
   * Needs the scope `hosts:read`.
   */
  list(options: CallOptions = {}): AsyncGenerator<Host, void> {
    return everyItem((cursor) => this.page({ cursor }, options));
  }

  /** Reads one page of `list`. */
  page(query: PageOptions = {}, options: CallOptions = {}): Promise<Page<Host>> {
    return this.http.json<Page<Host>>({ method: "GET", path: "/v1/hosts", query: { ...query } }, options);
  }

  /**
   * Get a host. How it is, what it has, and what is taken of it.
   *
   * Needs the scope `hosts:read`.
   *
   * Errors of its own: `host_not_found`.
   */
  get(id: string, options: CallOptions = {}): Promise<Host> {
    return this.http.json<Host>({ method: "GET", path: `/v1/hosts/${segment(id)}` }, options);
  }

  /**
   * Remove a host. Ends the membership of a host that has joined: control trusts it no more.
   *
   * What ran on it has failed, and does not come back; machines start anew elsewhere by their
   * policy. Drain it first to lose nothing. Templates that organizations have built do not leave
   * with a drain: it is removed with the last copy of one only by `force`.
   *
   * Needs the scope `hosts:write`.
   *
   * Errors of its own: `host_not_found`, `host_not_empty`, `host_not_removable`.
   */
  async remove(id: string, query: RemoveHostQuery = {}, options: CallOptions = {}): Promise<void> {
    await this.http.done(
      { method: "DELETE", path: `/v1/hosts/${segment(id)}`, query: { ...query } },
      options,
    );
  }

  /**
   * Create a join token. By it one machine becomes a host within the next hour. It is in this
   * answer and nowhere else.
   *
   * Needs the scope `hosts:write`.
   *
   * Errors of its own: `secrets_unavailable`, `secret_damaged`.
   */
  createJoinToken(options: CreateOptions = {}): Promise<JoinToken> {
    return this.http.json<JoinToken>(
      { method: "POST", path: "/v1/hosts/join-tokens", headers: keyHeader(options), creates: true },
      options,
    );
  }

  /**
   * Get the certificate authority. The authority that certifies control and its hosts, and how far
   * a change of it is.
   *
   * Needs the scope `hosts:read`.
   */
  authority(options: CallOptions = {}): Promise<Authority> {
    return this.http.json<Authority>({ method: "GET", path: "/v1/authority" }, options);
  }

  /**
   * Rotate the certificate authority. Changes the authority that certifies control and its hosts
   * for a new one, while they go on.
   *
   * Answers at once; the change goes on by itself, and waits for every host, also for one that is
   * offline, until its certificate ends. Asked for again while one is under way, it begins no
   * other.
   *
   * Needs the scope `hosts:write`.
   */
  rotateAuthority(request: AuthorityRotateRequest = {}, options: CallOptions = {}): Promise<Authority> {
    return this.http.json<Authority>(
      { method: "POST", path: "/v1/authority/rotate", json: request },
      options,
    );
  }

  /**
   * Drain a host. Gives the host no new VMs and moves those that it has to other hosts, with paused
   * sandboxes and snapshots, and copies there the templates that no other host has.
   *
   * Answers at once; the host is in `maintenance` when the last one has left. A host that is
   * offline is drained when it is back.
   *
   * Needs the scope `hosts:write`.
   *
   * Errors of its own: `host_not_found`.
   */
  drain(id: string, options: CallOptions = {}): Promise<Host> {
    return this.http.json<Host>({ method: "POST", path: `/v1/hosts/${segment(id)}/drain` }, options);
  }

  /**
   * Activate a host. Lets the host have VMs again: cancels a drain, ends maintenance.
   *
   * Needs the scope `hosts:write`.
   *
   * Errors of its own: `host_not_found`, `host_silent`.
   */
  activate(id: string, options: CallOptions = {}): Promise<Host> {
    return this.http.json<Host>({ method: "POST", path: `/v1/hosts/${segment(id)}/activate` }, options);
  }

  /** Gives the host as it is now, and again with each change of it, until `signal` aborts. */
  follow(id: string, options: CallOptions = {}): AsyncGenerator<Host, void> {
    return followResource(this.http, "host", { id: id, read: (id, own) => this.get(id, own) }, options);
  }

  /**
   * Resolves when its `status` is `until`, or one of them. Throws `SkerryStatusError` where it has
   * ended in another one.
   */
  wait(id: string, until: Status<Host>, options: WaitOptions = {}): Promise<Host> {
    return waitForStatus("host", { id: id, read: (id, own) => this.get(id, own) }, until, options);
  }
}
