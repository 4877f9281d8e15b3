// Written by setup/write-clients.ts from the declarations of the API's operations. Do not edit.

import type {
  RegistryCredential,
  RegistryCredentialList,
  RegistryCredentialRequest,
} from "@skerry/contract/registries/registry-credential";
import type { CallOptions, HttpClient } from "../http/http.ts";
import { segment } from "../http/paths.ts";

export class Registries {
  protected readonly http: HttpClient;

  constructor(http: HttpClient) {
    this.http = http;
  }

  /**
   * List credentials of registries. Without their passwords, which no call tells.
   *
   * Needs the scope `templates:read`.
   */
  async list(options: CallOptions = {}): Promise<RegistryCredential[]> {
    return (
      await this.http.json<RegistryCredentialList>(
        { method: "GET", path: "/v1/registry-credentials" },
        options,
      )
    ).items;
  }

  /**
   * Set credentials of a registry. Builds of the organization pull images of this registry, and
   * push templates to it, with them from now on. They are kept sealed, and reach a build's microVM
   * only while a step pulls or pushes.
   *
   * Needs the scope `org:write`.
   *
   * Errors of its own: `quota_exceeded`, `secret_damaged`, `secrets_unavailable`.
   */
  set(
    host: string,
    request: RegistryCredentialRequest,
    options: CallOptions = {},
  ): Promise<RegistryCredential> {
    return this.http.json<RegistryCredential>(
      { method: "PUT", path: `/v1/registry-credentials/${segment(host)}`, json: request },
      options,
    );
  }

  /**
   * Delete credentials of a registry.
   *
   * Needs the scope `org:write`.
   *
   * Errors of its own: `registry_credential_not_found`.
   */
  async delete(host: string, options: CallOptions = {}): Promise<void> {
    await this.http.done({ method: "DELETE", path: `/v1/registry-credentials/${segment(host)}` }, options);
  }
}
