// What the control plane does by itself. It is the operator's.

import type { BackgroundService, BackgroundServiceList } from "@skerry/contract/platform/background-service";
import type { CallOptions, HttpClient } from "../http/http.ts";
import { backgroundServicePath } from "../http/paths.ts";

export class BackgroundServices {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  /** All of them, when each has run, and what came of it. Needs the scope `metrics:read`. */
  async list(options: CallOptions = {}): Promise<BackgroundService[]> {
    const request = { method: "GET", path: "/v1/background-services" } as const;
    return (await this.#http.json<BackgroundServiceList>(request, options)).items;
  }

  /** Code `service_not_found` where there is none. */
  get(name: string, options: CallOptions = {}): Promise<BackgroundService> {
    return this.#http.json<BackgroundService>({ method: "GET", path: backgroundServicePath(name) }, options);
  }

  /** Has it run now. Answers before it has: `last_run` tells when. Needs the scope `platform:write`. */
  run(name: string, options: CallOptions = {}): Promise<BackgroundService> {
    const path = `${backgroundServicePath(name)}/run`;
    return this.#http.json<BackgroundService>({ method: "POST", path }, options);
  }
}
