// Written by setup/write-clients.ts from the declarations of the API's operations. Do not edit.

import type {
  Secret,
  SecretDeleted,
  SecretHistory,
  SecretList,
  SecretRollbackRequest,
  SecretSetRequest,
} from "@skerry/contract/secrets/secret";
import type { CallOptions, HttpClient } from "../http/http.ts";
import { segment } from "../http/paths.ts";

export class Secrets {
  protected readonly http: HttpClient;

  constructor(http: HttpClient) {
    this.http = http;
  }

  /**
   * List secrets. By name, without their values, which no call tells.
   *
   * Needs the scope `secrets:read`.
   */
  async list(options: CallOptions = {}): Promise<Secret[]> {
    return (await this.http.json<SecretList>({ method: "GET", path: "/v1/secrets" }, options)).items;
  }

  /**
   * Get a secret. Its versions, and not its value, which no call tells.
   *
   * Needs the scope `secrets:read`.
   *
   * Errors of its own: `secret_not_found`.
   */
  get(name: string, options: CallOptions = {}): Promise<SecretHistory> {
    return this.http.json<SecretHistory>({ method: "GET", path: `/v1/secrets/${segment(name)}` }, options);
  }

  /**
   * Set a secret. Adds a version with this value, which counts from now on. The value is kept
   * sealed, and no call tells it again. In the place of JSON the request can have the value itself,
   * as `application/octet-stream`.
   *
   * Needs the scope `secrets:write`.
   *
   * Errors of its own: `quota_exceeded`, `secret_damaged`, `secrets_unavailable`.
   */
  set(name: string, request: SecretSetRequest, options: CallOptions = {}): Promise<Secret> {
    return this.http.json<Secret>(
      { method: "PUT", path: `/v1/secrets/${segment(name)}`, json: request },
      options,
    );
  }

  /**
   * Roll back a secret. Adds a version with the value of an earlier one that is kept.
   *
   * Needs the scope `secrets:write`.
   *
   * Errors of its own: `secret_not_found`, `secret_damaged`, `secrets_unavailable`.
   */
  rollBack(name: string, request: SecretRollbackRequest, options: CallOptions = {}): Promise<Secret> {
    return this.http.json<Secret>(
      { method: "POST", path: `/v1/secrets/${segment(name)}/rollback`, json: request },
      options,
    );
  }

  /**
   * Delete a secret. With all its versions. Sandboxes and machines that have it keep it until they
   * end or start again; the answer names them.
   *
   * Needs the scope `secrets:write`.
   *
   * Errors of its own: `secret_not_found`.
   */
  delete(name: string, options: CallOptions = {}): Promise<SecretDeleted> {
    return this.http.json<SecretDeleted>({ method: "DELETE", path: `/v1/secrets/${segment(name)}` }, options);
  }
}
