// Written by setup/write-clients.ts from the declarations of the API's operations. Do not edit.

import type { Limits } from "@skerry/contract/limits/limits-report";
import type { Me } from "@skerry/contract/organizations/organization";
import type { Health } from "@skerry/contract/platform/health";
import type { Status } from "@skerry/contract/platform/status";
import type { Usage } from "@skerry/contract/usage/usage";
import type { CallOptions, HttpClient } from "../http/http.ts";
import { BackgroundServices } from "./background-services.ts";
import { Cache } from "./cache.ts";
import { Hosts } from "./hosts.ts";
import { Moves } from "./moves.ts";
import { Organizations } from "./organizations.ts";
import { Registries } from "./registries.ts";
import { Secrets } from "./secrets.ts";
import { Sizes } from "./sizes.ts";
import { Snapshots } from "./snapshots.ts";
import { Tokens } from "./tokens.ts";

export interface UsageQuery {
  /** A time in ISO 8601, such as 2026-11-20T16:00:00Z. Default: 24 hours before `until`. */
  readonly since?: string | undefined;
  /** The same; steps that begin before it. Default: now. */
  readonly until?: string | undefined;
  /** Length of a step, whole minutes from 1m to 24h. There can be 10000 of them. */
  readonly step?: string | undefined;
}

/** Collections and calls that need nothing but their declarations. `Skerry` has the other ones. */
export class GeneratedClient {
  readonly snapshots: Snapshots;
  readonly sizes: Sizes;
  readonly registries: Registries;
  readonly cache: Cache;
  readonly secrets: Secrets;
  readonly tokens: Tokens;
  readonly organizations: Organizations;
  readonly hosts: Hosts;
  readonly moves: Moves;
  readonly backgroundServices: BackgroundServices;
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
    this.snapshots = new Snapshots(http);
    this.sizes = new Sizes(http);
    this.registries = new Registries(http);
    this.cache = new Cache(http);
    this.secrets = new Secrets(http);
    this.tokens = new Tokens(http);
    this.organizations = new Organizations(http);
    this.hosts = new Hosts(http);
    this.moves = new Moves(http);
    this.backgroundServices = new BackgroundServices(http);
  }

  /** Show who is calling. For which organization, and what the token can do there. */
  me(options: CallOptions = {}): Promise<Me> {
    return this.#http.json<Me>({ method: "GET", path: "/v1/auth/me" }, options);
  }

  /**
   * Show the limits of the organization. What it may do and hold, and how much of each quota is
   * taken.
   *
   * Needs the scope `org:read`.
   */
  limits(options: CallOptions = {}): Promise<Limits> {
    return this.#http.json<Limits>({ method: "GET", path: "/v1/limits" }, options);
  }

  /**
   * Show the usage of the organization over time. What it has had at once, how much it has made,
   * and what its egress rules have refused. It is measured once a minute and kept for 30 days,
   * after two of them in steps of ten minutes.
   *
   * Needs the scope `org:read`.
   *
   * Errors of its own: `invalid_duration`, `timeout_too_long`.
   */
  usage(query: UsageQuery = {}, options: CallOptions = {}): Promise<Usage> {
    return this.#http.json<Usage>({ method: "GET", path: "/v1/usage", query: { ...query } }, options);
  }

  /**
   * Show the status of the organization. What the organization has, by status, and how many hosts
   * there are for it.
   *
   * Needs the scope `org:read`.
   */
  status(options: CallOptions = {}): Promise<Status> {
    return this.#http.json<Status>({ method: "GET", path: "/v1/status" }, options);
  }

  /** Check the health of the control plane. Answers where the control plane is running. */
  health(options: CallOptions = {}): Promise<Health> {
    return this.#http.json<Health>({ method: "GET", path: "/v1/health" }, options);
  }
}
