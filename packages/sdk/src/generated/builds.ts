// Written by setup/write-clients.ts from the declarations of the API's operations. Do not edit.

import type { Build, BuildEgress } from "@skerry/contract/builds/build";
import { followResource } from "../events/follow-resource.ts";
import { waitForStatus, type Status, type WaitOptions } from "../events/wait-for-status.ts";
import { keyHeader, type CallOptions, type CreateOptions, type HttpClient } from "../http/http.ts";
import { everyItem, type Page, type PageOptions } from "../http/pages.ts";
import { segment } from "../http/paths.ts";

export interface BuildFilter {
  /** Only builds with this status. */
  readonly status?:
    | "queued"
    | "building"
    | "sealing"
    | "freezing"
    | "ready"
    | "failed"
    | "canceled"
    | undefined;
  /** Only builds of this template. */
  readonly name?: string | undefined;
}

export class GeneratedBuilds {
  protected readonly http: HttpClient;

  constructor(http: HttpClient) {
    this.http = http;
  }

  /**
   * List builds. Newest first. Those that ended 30 days ago are forgotten, and before that those
   * beyond the last 2,000 that ended.
   *
   * Needs the scope `templates:read`.
   */
  list(filter: BuildFilter = {}, options: CallOptions = {}): AsyncGenerator<Build, void> {
    return everyItem((cursor) => this.page({ ...filter, cursor }, options));
  }

  /** Reads one page of `list`. */
  page(query: BuildFilter & PageOptions = {}, options: CallOptions = {}): Promise<Page<Build>> {
    return this.http.json<Page<Build>>({ method: "GET", path: "/v1/builds", query: { ...query } }, options);
  }

  /**
   * Get a build.
   *
   * Needs the scope `templates:read`.
   *
   * Errors of its own: `build_not_found`.
   */
  get(id: string, options: CallOptions = {}): Promise<Build> {
    return this.http.json<Build>({ method: "GET", path: `/v1/builds/${segment(id)}` }, options);
  }

  /**
   * Show the egress of a build. Its rules, and the last destinations that were denied, also after
   * its end.
   *
   * Needs the scope `templates:read`.
   *
   * Errors of its own: `build_not_found`.
   */
  egress(id: string, options: CallOptions = {}): Promise<BuildEgress> {
    return this.http.json<BuildEgress>({ method: "GET", path: `/v1/builds/${segment(id)}/egress` }, options);
  }

  /**
   * Cancel a build. At once, whatever it is doing. One that has ended stays as it is.
   *
   * Needs the scope `templates:write`.
   *
   * Errors of its own: `build_not_found`.
   */
  cancel(id: string, options: CallOptions = {}): Promise<Build> {
    return this.http.json<Build>({ method: "POST", path: `/v1/builds/${segment(id)}/cancel` }, options);
  }

  /**
   * Try a build again. A new build of the same request. A context has to be sent again.
   *
   * Needs the scope `templates:write`.
   *
   * Errors of its own: `build_not_found`, `build_over`, `template_not_found`, `invalid_cidr`,
   * `invalid_port`, `invalid_domain`, `egress_conflict`, `egress_forbidden` and others.
   */
  retry(id: string, options: CreateOptions = {}): Promise<Build> {
    return this.http.json<Build>(
      { method: "POST", path: `/v1/builds/${segment(id)}/retry`, headers: keyHeader(options), creates: true },
      options,
    );
  }

  /** Gives the build as it is now, and again with each change of it, until `signal` aborts. */
  follow(id: string, options: CallOptions = {}): AsyncGenerator<Build, void> {
    return followResource(this.http, "build", { id: id, read: (id, own) => this.get(id, own) }, options);
  }

  /**
   * Resolves when its `status` is `until`, or one of them. Throws `SkerryStatusError` where it has
   * ended in another one.
   */
  wait(id: string, until: Status<Build>, options: WaitOptions = {}): Promise<Build> {
    return waitForStatus("build", { id: id, read: (id, own) => this.get(id, own) }, until, options);
  }
}
