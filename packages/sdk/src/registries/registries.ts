// Credentials of registries: what builds log in with when they pull images.

import type {
  RegistryCredential,
  RegistryCredentialList,
  RegistryCredentialRequest,
} from "@skerry/contract/registries/registry-credential";
import type { CallOptions, HttpClient } from "../http/http.ts";
import { registryPath } from "../http/paths.ts";

export class Registries {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  /** By host, without their passwords. */
  async list(options: CallOptions = {}): Promise<readonly RegistryCredential[]> {
    const call = { method: "GET", path: "/v1/registry-credentials" } as const;
    const { items } = await this.#http.json<RegistryCredentialList>(call, options);
    return items;
  }

  /** `host` is the registry as references name it, in lower case and with its port: `registry.example.com:5000`. Needs an admin. */
  set(
    host: string,
    credential: RegistryCredentialRequest,
    options: CallOptions = {},
  ): Promise<RegistryCredential> {
    const call = { method: "PUT", path: registryPath(host), json: credential } as const;
    return this.#http.json<RegistryCredential>(call, options);
  }

  /** Code `registry_credential_not_found` where there are none. */
  async delete(host: string, options: CallOptions = {}): Promise<void> {
    await this.#http.done({ method: "DELETE", path: registryPath(host) }, options);
  }
}
