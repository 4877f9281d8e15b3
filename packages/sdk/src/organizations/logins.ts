// Logins of browsers, for pages of the server itself.

import type { Me } from "@skerry/contract/organizations/organization";
import type { LoginCode, LoginCodeOwner, SessionCreateRequest } from "@skerry/contract/organizations/login";
import type { CallOptions, HttpClient } from "../http/http.ts";

export class Logins {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  /** Logs this browser in: the answer sets a cookie that scripts cannot read. Code `forbidden` where the page is not the server's own. */
  create(request: SessionCreateRequest, options: CallOptions = {}): Promise<Me> {
    return this.#http.json<Me>({ method: "POST", path: "/v1/auth/sessions", json: request }, options);
  }

  /** A code that logs one browser in as this client's user within 60 s: `/ui/login#code=…` of the server. */
  createCode(options: CallOptions = {}): Promise<LoginCode> {
    return this.#http.json<LoginCode>({ method: "POST", path: "/v1/auth/login-codes" }, options);
  }

  /** Whom the code logs a browser in as. The code stays as it is. */
  describeCode(code: string, options: CallOptions = {}): Promise<LoginCodeOwner> {
    const path = "/v1/auth/login-codes/owner";
    return this.#http.json<LoginCodeOwner>({ method: "POST", path, json: { code } }, options);
  }

  /** Logs this browser out. */
  async end(options: CallOptions = {}): Promise<void> {
    await this.#http.done({ method: "DELETE", path: "/v1/auth/sessions" }, options);
  }
}
