// Machines that VMs run on. They are the operator's.

import type { JoinToken } from "@skerry/contract/joining";
import type { CallOptions, HttpClient } from "./http.ts";

export class Hosts {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  /** A token by which one machine becomes a host within the next hour. It is in `token` of this answer and nowhere else. */
  createJoinToken(options: CallOptions = {}): Promise<JoinToken> {
    return this.#http.json<JoinToken>(
      { method: "POST", path: "/v1/hosts/join-tokens", json: {}, creates: true },
      options,
    );
  }
}
