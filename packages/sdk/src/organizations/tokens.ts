// API tokens of the organization.

import type { Token, TokenCreated, TokenCreateRequest } from "@skerry/contract/organizations/token";
import type { CallOptions, HttpClient } from "../http/http.ts";
import { everyItem, pageQuery, type Page, type PageOptions } from "../http/pages.ts";
import { tokenPath } from "../http/paths.ts";

export class Tokens {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  /**
   * Mints a token. The secret is in `token` of this answer and nowhere else. `expires_in` is a duration such as `24h`; `scopes` limits
   * what it may do; `user_id` says which member's it will be, which takes an admin; `bound` keeps it to this
   * organization. It can have nothing that your own token has not.
   */
  create(request: TokenCreateRequest = {}, options: CallOptions = {}): Promise<TokenCreated> {
    return this.#http.json<TokenCreated>(
      { method: "POST", path: "/v1/auth/tokens", json: request, creates: true },
      options,
    );
  }

  /** Your tokens in the organization, or all members' where you are an admin; newest first, without their secrets. */
  list(options: CallOptions = {}): AsyncGenerator<Token, void> {
    return everyItem((cursor) => this.page({ cursor }, options));
  }

  /** One page of the list. */
  page(query: PageOptions = {}, options: CallOptions = {}): Promise<Page<Token>> {
    return this.#http.json<Page<Token>>(
      { method: "GET", path: "/v1/auth/tokens", query: pageQuery(query) },
      options,
    );
  }

  /** Ends a token at once. */
  async revoke(id: string, options: CallOptions = {}): Promise<void> {
    await this.#http.done({ method: "DELETE", path: tokenPath(id) }, options);
  }
}
