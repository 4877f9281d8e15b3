import type { FastifyRequest } from "fastify";
import { Type } from "typebox";
import {
  RegistryCredential,
  RegistryCredentialList,
  RegistryCredentialRequest,
  RegistryHost,
} from "@skerry/contract/registries/registry-credential";
import { REGISTRY_HOST_PATTERN } from "@skerry/contract/registries/registry-host";
import type { Operations } from "../api/operation.ts";

const HOST = new RegExp(REGISTRY_HOST_PATTERN);
const params = Type.Object({ host: RegistryHost });

/** A registry has no id: the log names its host. */
function hostOf({ params }: FastifyRequest): string | undefined {
  const { host = "" } = params as { readonly host?: string };
  return HOST.test(host) ? host : undefined;
}

/** What builds log in to registries with. */
export const registryOperations = {
  listRegistryCredentials: {
    surface: "v1",
    method: "GET",
    path: "/v1/registry-credentials",
    client: "registries.list",
    tag: "templates",
    summary: "List credentials of registries",
    description: "Without their passwords, which no call tells.",
    answers: { 200: RegistryCredentialList },
    access: { scope: "templates:read", role: "viewer", rate: "read" },
    audit: { action: "registry.list", resource: "registry" },
    errors: [],
  },
  setRegistryCredential: {
    surface: "v1",
    method: "PUT",
    path: "/v1/registry-credentials/:host",
    client: "registries.set",
    tag: "templates",
    summary: "Set credentials of a registry",
    description:
      "Builds of the organization pull images of this registry, and push templates to it, with them from now on. They are kept sealed, and reach a build's microVM only while a step pulls or pushes.",
    params,
    body: RegistryCredentialRequest,
    answers: { 200: RegistryCredential },
    access: { scope: "org:write", role: "admin", rate: "write" },
    audit: { action: "registry.set", resource: "registry", idOfRequest: hostOf },
    errors: ["quota_exceeded", "secret_damaged", "secrets_unavailable"],
  },
  deleteRegistryCredential: {
    surface: "v1",
    method: "DELETE",
    path: "/v1/registry-credentials/:host",
    client: "registries.delete",
    tag: "templates",
    summary: "Delete credentials of a registry",
    params,
    answers: { 204: Type.Null({ description: "They are deleted." }) },
    access: { scope: "org:write", role: "admin", rate: "write" },
    audit: { action: "registry.delete", resource: "registry", idOfRequest: hostOf },
    errors: ["registry_credential_not_found"],
  },
} as const satisfies Operations;
