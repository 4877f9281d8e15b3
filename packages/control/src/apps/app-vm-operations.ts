// Operations about what is in the microVMs of an app: secrets of its own, and microVMs for commands by hand.

import { Type } from "typebox";
import { OneOffRequest } from "@skerry/contract/apps/one-off";
import { Machine } from "@skerry/contract/machines/machine";
import {
  Secret,
  SecretDeleted,
  SecretList,
  SecretName,
  SecretSetRequest,
} from "@skerry/contract/secrets/secret";
import type { Operations } from "../api/operation.ts";
import { startErrors } from "../vms/vm-errors.ts";
import { appIdOf } from "./app-rows.ts";

const id = Type.String({ description: "Id or name of the app." });
const path = { params: Type.Object({ id }), idOf: appIdOf };
const secretPath = { params: Type.Object({ id, name: SecretName }), idOf: appIdOf };

const read = { scope: "secrets:read", role: "viewer", rate: "read" } as const;
const write = { scope: "secrets:write", role: "member", rate: "write" } as const;
const run = { scope: "apps:write", role: "member", rate: "expensive" } as const;

export const appVmOperations = {
  listAppSecrets: {
    surface: "v1",
    method: "GET",
    path: "/v1/apps/:id/secrets",
    client: "apps.secrets",
    tag: "apps",
    summary: "List secrets of an app",
    description: "Those of the app alone, without their values, which no call tells.",
    ...path,
    answers: { 200: SecretList },
    access: read,
    audit: { action: "secret.list", resource: "app" },
    errors: ["app_not_found"],
  },
  setAppSecret: {
    surface: "v1",
    method: "PUT",
    path: "/v1/apps/:id/secrets/:name",
    client: "apps.setSecret",
    tag: "apps",
    summary: "Set a secret of an app",
    description:
      "Adds a version with this value. Instances of the next deploy have it in their environment, also where the organization has a secret of the name. In the place of JSON the request can have the value itself, as `application/octet-stream`.",
    ...secretPath,
    body: SecretSetRequest,
    rawField: "value",
    answers: { 200: Secret },
    access: write,
    audit: { action: "secret.set", resource: "app" },
    errors: ["app_not_found", "app_deleting", "quota_exceeded", "secret_damaged", "secrets_unavailable"],
  },
  deleteAppSecret: {
    surface: "v1",
    method: "DELETE",
    path: "/v1/apps/:id/secrets/:name",
    client: "apps.deleteSecret",
    tag: "apps",
    summary: "Delete a secret of an app",
    description:
      "With all its versions. Instances that have it keep it until the next deploy; the answer names them.",
    ...secretPath,
    answers: { 200: SecretDeleted },
    access: write,
    audit: { action: "secret.delete", resource: "app" },
    errors: ["app_not_found", "secret_not_found"],
  },
  createOneOff: {
    surface: "v1",
    method: "POST",
    path: "/v1/apps/:id/one-offs",
    client: "apps.createOneOff",
    tag: "apps",
    summary: "Create a machine for commands",
    description:
      "A machine with the template, the environment and the secrets of the release that is live, in which nothing of the app runs: for commands by hand. It ends when it is deleted, or when nothing has run in it for ten minutes. With secrets it needs `secrets:read` as well.",
    ...path,
    body: OneOffRequest,
    answers: { 201: Machine },
    access: run,
    audit: { action: "app.run", resource: "app" },
    errors: [
      ...startErrors,
      "app_not_found",
      "app_deleting",
      "release_not_found",
      "secret_not_found",
      "unknown_size",
    ],
  },
  deleteOneOff: {
    surface: "v1",
    method: "DELETE",
    path: "/v1/apps/:id/one-offs/:machine",
    client: "apps.deleteOneOff",
    tag: "apps",
    summary: "Delete a machine for commands",
    params: Type.Object({ id, machine: Type.String({ description: "Id or name of the machine." }) }),
    idOf: appIdOf,
    answers: { 204: Type.Null({ description: "It is being destroyed." }) },
    access: { ...run, rate: "write" },
    audit: { action: "app.run_end", resource: "app" },
    errors: ["app_not_found", "machine_not_found"],
  },
} as const satisfies Operations;
