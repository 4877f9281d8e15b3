import type { FastifyRequest } from "fastify";
import { Type } from "typebox";
import {
  Secret,
  SecretDeleted,
  SecretHistory,
  SecretList,
  SecretName,
  SecretRollbackRequest,
  SecretSetRequest,
} from "@skerry/contract/secrets/secret";
import { SECRET_NAME_PATTERN } from "@skerry/contract/secrets/secret-bounds";
import type { Operations } from "../api/operation.ts";

const NAME = new RegExp(SECRET_NAME_PATTERN);
const params = Type.Object({ name: SecretName });

/** A secret has no id: the log has its name. */
function nameOf({ params }: FastifyRequest): string | undefined {
  const { name = "" } = params as { readonly name?: string };
  return NAME.test(name) ? name : undefined;
}

export const secretOperations = {
  listSecrets: {
    surface: "v1",
    method: "GET",
    path: "/v1/secrets",
    tag: "secrets",
    summary: "List secrets",
    description: "By name, without their values, which no call tells.",
    answers: { 200: SecretList },
    access: { scope: "secrets:read", role: "viewer", rate: "read" },
    audit: { action: "secret.list", resource: "secret" },
    errors: [],
  },
  getSecret: {
    surface: "v1",
    method: "GET",
    path: "/v1/secrets/:name",
    tag: "secrets",
    summary: "Get a secret",
    description: "Its versions, and not its value, which no call tells.",
    params,
    answers: { 200: SecretHistory },
    access: { scope: "secrets:read", role: "viewer", rate: "read" },
    audit: { action: "secret.get", resource: "secret", idOfRequest: nameOf },
    errors: ["secret_not_found"],
  },
  setSecret: {
    surface: "v1",
    method: "PUT",
    path: "/v1/secrets/:name",
    tag: "secrets",
    summary: "Set a secret",
    description:
      "Adds a version with this value, which counts from now on. The value is kept sealed, and no call tells it again. In the place of JSON the request can have the value itself, as `application/octet-stream`.",
    params,
    body: SecretSetRequest,
    rawField: "value",
    answers: { 200: Secret },
    access: { scope: "secrets:write", role: "member", rate: "write" },
    audit: { action: "secret.set", resource: "secret", idOfRequest: nameOf },
    errors: ["quota_exceeded", "secret_damaged", "secrets_unavailable"],
  },
  rollBackSecret: {
    surface: "v1",
    method: "POST",
    path: "/v1/secrets/:name/rollback",
    tag: "secrets",
    summary: "Roll back a secret",
    description: "Adds a version with the value of an earlier one that is kept.",
    params,
    body: SecretRollbackRequest,
    answers: { 200: Secret },
    access: { scope: "secrets:write", role: "member", rate: "write" },
    audit: { action: "secret.rollback", resource: "secret", idOfRequest: nameOf },
    errors: ["secret_not_found", "secret_damaged", "secrets_unavailable"],
  },
  deleteSecret: {
    surface: "v1",
    method: "DELETE",
    path: "/v1/secrets/:name",
    tag: "secrets",
    summary: "Delete a secret",
    description:
      "With all its versions. Sandboxes and machines that have it keep it until they end or start again; the answer names them.",
    params,
    answers: { 200: SecretDeleted },
    access: { scope: "secrets:write", role: "member", rate: "write" },
    audit: { action: "secret.delete", resource: "secret", idOfRequest: nameOf },
    errors: ["secret_not_found"],
  },
} as const satisfies Operations;
