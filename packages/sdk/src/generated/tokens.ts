// Written by setup/write-clients.ts from the declarations of the API's operations. Do not edit.

import type { Token, TokenCreateRequest, TokenCreated } from "@skerry/contract/organizations/token";
import { keyHeader, type CallOptions, type CreateOptions, type HttpClient } from "../http/http.ts";
import { everyItem, type Page, type PageOptions } from "../http/pages.ts";
import { segment } from "../http/paths.ts";

export class Tokens {
  protected readonly http: HttpClient;

  constructor(http: HttpClient) {
    this.http = http;
  }

  /**
   * Mint a token. Its secret is in this answer and nowhere else.
   *
   * It never outlives the token of this request: without `expires_in` both end together, a longer
   * one is refused.
   *
   * An admin mints one for another member with `user_id` and the scope `org:write`, to hand over:
   * it does what that member's role may, in this organization only, and does not end with the token
   * of this request, but with the membership.
   *
   * Needs the scope `tokens:write`.
   *
   * Errors of its own: `invalid_duration`, `timeout_too_long`, `quota_exceeded`,
   * `member_not_found`.
   */
  create(request: TokenCreateRequest = {}, options: CreateOptions = {}): Promise<TokenCreated> {
    return this.http.json<TokenCreated>(
      { method: "POST", path: "/v1/auth/tokens", json: request, headers: keyHeader(options), creates: true },
      options,
    );
  }

  /**
   * List tokens. The tokens of the organization, newest first, without their secrets.
   *
   * Needs the scope `tokens:read`.
   */
  list(options: CallOptions = {}): AsyncGenerator<Token, void> {
    return everyItem((cursor) => this.page({ cursor }, options));
  }

  /** Reads one page of `list`. */
  page(query: PageOptions = {}, options: CallOptions = {}): Promise<Page<Token>> {
    return this.http.json<Page<Token>>(
      { method: "GET", path: "/v1/auth/tokens", query: { ...query } },
      options,
    );
  }

  /**
   * Revoke a token. All that it minted for its own user end with it: the next request with any of
   * them is refused.
   *
   * Needs the scope `tokens:write`.
   *
   * Errors of its own: `token_not_found`.
   */
  async revoke(id: string, options: CallOptions = {}): Promise<void> {
    await this.http.done({ method: "DELETE", path: `/v1/auth/tokens/${segment(id)}` }, options);
  }
}
