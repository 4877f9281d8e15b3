// Written by setup/write-clients.ts from the declarations of the API's operations. Do not edit.

import type { BackgroundService, BackgroundServiceList } from "@skerry/contract/platform/background-service";
import { followResource } from "../events/follow-resource.ts";
import { waitForStatus, type Status, type WaitOptions } from "../events/wait-for-status.ts";
import type { CallOptions, HttpClient } from "../http/http.ts";
import { segment } from "../http/paths.ts";

export class BackgroundServices {
  protected readonly http: HttpClient;

  constructor(http: HttpClient) {
    this.http = http;
  }

  /**
   * List the background services. What the control plane does by itself, when each has run, and
   * what came of it.
   *
   * Needs the scope `metrics:read`.
   */
  async list(options: CallOptions = {}): Promise<BackgroundService[]> {
    return (
      await this.http.json<BackgroundServiceList>({ method: "GET", path: "/v1/background-services" }, options)
    ).items;
  }

  /**
   * Get a background service.
   *
   * Needs the scope `metrics:read`.
   *
   * Errors of its own: `service_not_found`.
   */
  get(name: string, options: CallOptions = {}): Promise<BackgroundService> {
    return this.http.json<BackgroundService>(
      { method: "GET", path: `/v1/background-services/${segment(name)}` },
      options,
    );
  }

  /**
   * Run a background service now. It is due at once, on one of the replicas. Answers before it has
   * run: `last_run` tells when it has. One that runs already runs once more.
   *
   * Needs the scope `platform:write`.
   *
   * Errors of its own: `service_not_found`.
   */
  run(name: string, options: CallOptions = {}): Promise<BackgroundService> {
    return this.http.json<BackgroundService>(
      { method: "POST", path: `/v1/background-services/${segment(name)}/run` },
      options,
    );
  }

  /** Gives the background service as it is now, and again with each change of it, until `signal` aborts. */
  follow(name: string, options: CallOptions = {}): AsyncGenerator<BackgroundService, void> {
    return followResource(
      this.http,
      "background_service",
      { id: name, read: (id, own) => this.get(id, own) },
      options,
    );
  }

  /**
   * Resolves when its `status` is `until`, or one of them. Throws `SkerryStatusError` where it has
   * ended in another one.
   */
  wait(
    name: string,
    until: Status<BackgroundService>,
    options: WaitOptions = {},
  ): Promise<BackgroundService> {
    return waitForStatus(
      "background_service",
      { id: name, read: (id, own) => this.get(id, own) },
      until,
      options,
    );
  }
}
