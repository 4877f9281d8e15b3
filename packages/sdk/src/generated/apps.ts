// Written by setup/write-clients.ts from the declarations of the API's operations. Do not edit.

import type { App, AppCreateRequest, AppUpdateRequest } from "@skerry/contract/apps/app";
import type { AppFailures } from "@skerry/contract/apps/app-failures";
import type { AppMetrics } from "@skerry/contract/apps/app-metrics";
import type { Deploy } from "@skerry/contract/apps/deploy";
import type { OneOffRequest } from "@skerry/contract/apps/one-off";
import type { DeployCreateRequest, Release } from "@skerry/contract/apps/release";
import type { Route, RouteCreateRequest } from "@skerry/contract/apps/route";
import type { Machine } from "@skerry/contract/machines/machine";
import type { Secret, SecretDeleted, SecretList, SecretSetRequest } from "@skerry/contract/secrets/secret";
import { followResource } from "../events/follow-resource.ts";
import { waitForStatus, type Status, type WaitOptions } from "../events/wait-for-status.ts";
import { keyHeader, type CallOptions, type CreateOptions, type HttpClient } from "../http/http.ts";
import { everyItem, type Page, type PageOptions } from "../http/pages.ts";
import { segment } from "../http/paths.ts";

export interface GetAppMetricsQuery {
  /** A time in ISO 8601, such as 2026-11-20T16:00:00Z. Default: all that is kept, 24 hours. */
  readonly since?: string | undefined;
  /** Length of a step, from 5m to 24h. */
  readonly step?: string | undefined;
}

export interface ListAppFailuresQuery {
  /** Only those at or after this time, in ISO 8601. Default: all that are kept. */
  readonly since?: string | undefined;
}

export class GeneratedApps {
  protected readonly http: HttpClient;

  constructor(http: HttpClient) {
    this.http = http;
  }

  /**
   * Create an app. It runs nothing before its first deploy.
   *
   * Needs the scope `apps:write`.
   *
   * Errors of its own: `name_taken`, `quota_exceeded`.
   */
  create(request: AppCreateRequest, options: CreateOptions = {}): Promise<App> {
    return this.http.json<App>(
      { method: "POST", path: "/v1/apps", json: request, headers: keyHeader(options), creates: true },
      options,
    );
  }

  /**
   * List apps. Those of the organization, newest first.
   *
   * Needs the scope `apps:read`.
   */
  list(options: CallOptions = {}): AsyncGenerator<App, void> {
    return everyItem((cursor) => this.page({ cursor }, options));
  }

  /** Reads one page of `list`. */
  page(query: PageOptions = {}, options: CallOptions = {}): Promise<Page<App>> {
    return this.http.json<Page<App>>({ method: "GET", path: "/v1/apps", query: { ...query } }, options);
  }

  /**
   * Get an app. With its last deploy, and its instances.
   *
   * Needs the scope `apps:read`.
   *
   * Errors of its own: `app_not_found`.
   */
  get(id: string, options: CallOptions = {}): Promise<App> {
    return this.http.json<App>({ method: "GET", path: `/v1/apps/${segment(id)}` }, options);
  }

  /**
   * Change an app. A scale is carried out at once, with instances of the release that is live;
   * variables wait for the next deploy. A receiver of logs has to be on the Internet, unless the
   * operator opens a private network; what it does not take is tried again, and `log_forward.fault`
   * says why.
   *
   * Needs the scope `apps:write`.
   *
   * Errors of its own: `app_not_found`, `app_deleting`, `invalid_env`, `secret_not_found`.
   */
  update(id: string, changes: AppUpdateRequest, options: CallOptions = {}): Promise<App> {
    return this.http.json<App>({ method: "PATCH", path: `/v1/apps/${segment(id)}`, json: changes }, options);
  }

  /**
   * Delete an app. Its instances finish the requests that they have, and end; then it is gone, with
   * its releases.
   *
   * Needs the scope `apps:write`.
   *
   * Errors of its own: `app_not_found`.
   */
  delete(id: string, options: CallOptions = {}): Promise<App> {
    return this.http.json<App>({ method: "DELETE", path: `/v1/apps/${segment(id)}` }, options);
  }

  /**
   * Deploy a release. Makes the next release, and brings instances of it in the place of those
   * before, which go on serving until the new ones have passed their checks. What the request
   * leaves out is that of the release before, or of `release`. It takes over variables that wait
   * for a deploy, unless `release` is another one than the live one. A deploy that is under way is
   * superseded. With secrets it needs `secrets:read` as well.
   *
   * Needs the scope `apps:write`.
   *
   * Errors of its own: `app_not_found`, `app_deleting`, `release_not_found`, `template_not_found`,
   * `invalid_manifest`, `invalid_env`, `invalid_cidr`, `invalid_port` and others.
   */
  deploy(id: string, request: DeployCreateRequest, options: CreateOptions = {}): Promise<Deploy> {
    return this.http.json<Deploy>(
      {
        method: "POST",
        path: `/v1/apps/${segment(id)}/deploys`,
        json: request,
        headers: keyHeader(options),
        creates: true,
      },
      options,
    );
  }

  /**
   * List deploys of an app. Newest first. Those before the last hundred are forgotten.
   *
   * Needs the scope `apps:read`.
   *
   * Errors of its own: `app_not_found`.
   */
  deploys(id: string, options: CallOptions = {}): AsyncGenerator<Deploy, void> {
    return everyItem((cursor) => this.deploysPage(id, { cursor }, options));
  }

  /** Reads one page of `deploys`. */
  deploysPage(id: string, query: PageOptions = {}, options: CallOptions = {}): Promise<Page<Deploy>> {
    return this.http.json<Page<Deploy>>(
      { method: "GET", path: `/v1/apps/${segment(id)}/deploys`, query: { ...query } },
      options,
    );
  }

  /**
   * Get a deploy.
   *
   * Needs the scope `apps:read`.
   *
   * Errors of its own: `app_not_found`, `deploy_not_found`.
   */
  getDeploy(id: string, deploy: string, options: CallOptions = {}): Promise<Deploy> {
    return this.http.json<Deploy>(
      { method: "GET", path: `/v1/apps/${segment(id)}/deploys/${segment(deploy)}` },
      options,
    );
  }

  /**
   * Cancel a deploy. What it has started is ended, and the release before goes on.
   *
   * Needs the scope `apps:write`.
   *
   * Errors of its own: `app_not_found`, `deploy_not_found`, `deploy_over`.
   */
  cancelDeploy(id: string, deploy: string, options: CallOptions = {}): Promise<Deploy> {
    return this.http.json<Deploy>(
      { method: "POST", path: `/v1/apps/${segment(id)}/deploys/${segment(deploy)}/cancel` },
      options,
    );
  }

  /**
   * Get the metrics of an app. Requests of each group and release over time, as the proxies of
   * hosts have counted them; kept for 24 hours.
   *
   * Needs the scope `apps:read`.
   *
   * Errors of its own: `app_not_found`, `invalid_duration`, `timeout_too_long`.
   */
  metrics(id: string, query: GetAppMetricsQuery = {}, options: CallOptions = {}): Promise<AppMetrics> {
    return this.http.json<AppMetrics>(
      { method: "GET", path: `/v1/apps/${segment(id)}/metrics`, query: { ...query } },
      options,
    );
  }

  /**
   * List failed requests of an app. Those that were answered with 5xx, by the app or by the
   * proxies, with whose fault it was. Hosts keep 256 KiB of each app for a week, and not all where
   * a route fails more than five times in a second.
   *
   * Needs the scope `apps:read`.
   *
   * Errors of its own: `app_not_found`.
   */
  failures(id: string, query: ListAppFailuresQuery = {}, options: CallOptions = {}): Promise<AppFailures> {
    return this.http.json<AppFailures>(
      { method: "GET", path: `/v1/apps/${segment(id)}/failures`, query: { ...query } },
      options,
    );
  }

  /**
   * Create a route of an app. Beside the one that each app has by itself: all requests for its name
   * go to its first service.
   *
   * Needs the scope `apps:write`.
   *
   * Errors of its own: `app_not_found`, `app_deleting`, `route_taken`, `quota_exceeded`.
   */
  createRoute(id: string, request: RouteCreateRequest, options: CreateOptions = {}): Promise<Route> {
    return this.http.json<Route>(
      {
        method: "POST",
        path: `/v1/apps/${segment(id)}/routes`,
        json: request,
        headers: keyHeader(options),
        creates: true,
      },
      options,
    );
  }

  /**
   * List routes of an app.
   *
   * Needs the scope `apps:read`.
   *
   * Errors of its own: `app_not_found`.
   */
  routes(id: string, options: CallOptions = {}): AsyncGenerator<Route, void> {
    return everyItem((cursor) => this.routesPage(id, { cursor }, options));
  }

  /** Reads one page of `routes`. */
  routesPage(id: string, query: PageOptions = {}, options: CallOptions = {}): Promise<Page<Route>> {
    return this.http.json<Page<Route>>(
      { method: "GET", path: `/v1/apps/${segment(id)}/routes`, query: { ...query } },
      options,
    );
  }

  /**
   * Delete a route of an app.
   *
   * Needs the scope `apps:write`.
   *
   * Errors of its own: `app_not_found`, `route_not_found`.
   */
  async deleteRoute(id: string, route: string, options: CallOptions = {}): Promise<void> {
    await this.http.done(
      { method: "DELETE", path: `/v1/apps/${segment(id)}/routes/${segment(route)}` },
      options,
    );
  }

  /**
   * List releases of an app. Newest first. Those before the last twenty are forgotten, but for
   * those that run.
   *
   * Needs the scope `apps:read`.
   *
   * Errors of its own: `app_not_found`.
   */
  releases(id: string, options: CallOptions = {}): AsyncGenerator<Release, void> {
    return everyItem((cursor) => this.releasesPage(id, { cursor }, options));
  }

  /** Reads one page of `releases`. */
  releasesPage(id: string, query: PageOptions = {}, options: CallOptions = {}): Promise<Page<Release>> {
    return this.http.json<Page<Release>>(
      { method: "GET", path: `/v1/apps/${segment(id)}/releases`, query: { ...query } },
      options,
    );
  }

  /**
   * List secrets of an app. Those of the app alone, without their values, which no call tells.
   *
   * Needs the scope `secrets:read`.
   *
   * Errors of its own: `app_not_found`.
   */
  async secrets(id: string, options: CallOptions = {}): Promise<Secret[]> {
    return (
      await this.http.json<SecretList>({ method: "GET", path: `/v1/apps/${segment(id)}/secrets` }, options)
    ).items;
  }

  /**
   * Set a secret of an app. Adds a version with this value. Instances of the next deploy have it in
   * their environment, also where the organization has a secret of the name. In the place of JSON
   * the request can have the value itself, as `application/octet-stream`.
   *
   * Needs the scope `secrets:write`.
   *
   * Errors of its own: `app_not_found`, `app_deleting`, `quota_exceeded`, `secret_damaged`,
   * `secrets_unavailable`.
   */
  setSecret(id: string, name: string, request: SecretSetRequest, options: CallOptions = {}): Promise<Secret> {
    return this.http.json<Secret>(
      { method: "PUT", path: `/v1/apps/${segment(id)}/secrets/${segment(name)}`, json: request },
      options,
    );
  }

  /**
   * Delete a secret of an app. With all its versions. Instances that have it keep it until the next
   * deploy; the answer names them.
   *
   * Needs the scope `secrets:write`.
   *
   * Errors of its own: `app_not_found`, `secret_not_found`.
   */
  deleteSecret(id: string, name: string, options: CallOptions = {}): Promise<SecretDeleted> {
    return this.http.json<SecretDeleted>(
      { method: "DELETE", path: `/v1/apps/${segment(id)}/secrets/${segment(name)}` },
      options,
    );
  }

  /**
   * Create a machine for commands. A machine with the template, the environment and the secrets of
   * the release that is live, in which nothing of the app runs: for commands by hand. It ends when
   * it is deleted, or when nothing has run in it for ten minutes. With secrets it needs
   * `secrets:read` as well.
   *
   * Needs the scope `apps:write`.
   *
   * Errors of its own: `host_unavailable`, `guest_failed`, `guest_timeout`, `secret_damaged`,
   * `secrets_unavailable`, `invalid_env`, `host_draining`, `no_capacity` and others.
   */
  createOneOff(id: string, request: OneOffRequest, options: CreateOptions = {}): Promise<Machine> {
    return this.http.json<Machine>(
      {
        method: "POST",
        path: `/v1/apps/${segment(id)}/one-offs`,
        json: request,
        headers: keyHeader(options),
        creates: true,
      },
      options,
    );
  }

  /**
   * Delete a machine for commands.
   *
   * Needs the scope `apps:write`.
   *
   * Errors of its own: `app_not_found`, `machine_not_found`.
   */
  async deleteOneOff(id: string, machine: string, options: CallOptions = {}): Promise<void> {
    await this.http.done(
      { method: "DELETE", path: `/v1/apps/${segment(id)}/one-offs/${segment(machine)}` },
      options,
    );
  }

  /** Gives the app as it is now, and again with each change of it, until `signal` aborts. */
  follow(id: string, options: CallOptions = {}): AsyncGenerator<App, void> {
    return followResource(this.http, "app", { id: id, read: (id, own) => this.get(id, own) }, options);
  }

  /**
   * Resolves when its `status` is `until`, or one of them. Throws `SkerryStatusError` where it has
   * ended in another one.
   */
  wait(id: string, until: Status<App>, options: WaitOptions = {}): Promise<App> {
    return waitForStatus("app", { id: id, read: (id, own) => this.get(id, own) }, until, options);
  }
}
