// What an organization logs in to a registry of images with. Its password is written and never read.

import { Type, type Static } from "typebox";
import { exampleIds } from "../example-ids.ts";
import { Nullable, Timestamp } from "../fields.ts";
import { exampleOf, named } from "../named.ts";
import { REGISTRY_HOST_PATTERN } from "./registry-host.ts";

export const RegistryHost = Type.String({
  maxLength: 260,
  pattern: REGISTRY_HOST_PATTERN,
  description: "The registry's host in lower case, with its port where a reference has one.",
});

/** Of one organization. */
export const REGISTRY_CREDENTIALS_MAX = 50;

export const RegistryCredentialRequest = named(
  "RegistryCredentialRequest",
  {
    username: Type.String({ minLength: 1, maxLength: 255, pattern: String.raw`^[^:\x00-\x1f\x7f]+$` }),
    password: Type.String({
      minLength: 1,
      maxLength: 16_384,
      pattern: String.raw`^[^\x00-\x1f\x7f]+$`,
      description: "Or a token that the registry takes as one. No answer of the API has it.",
    }),
  },
  { username: "builder", password: "NEVERUSETHISEXAMPLE" },
);
export type RegistryCredentialRequest = Static<typeof RegistryCredentialRequest>;

export const RegistryCredential = named(
  "RegistryCredential",
  {
    host: Type.String(),
    username: Type.String(),
    set_by: Nullable(Type.String({ description: "The user who set it." })),
    set_at: Timestamp,
  },
  {
    host: "registry.example.com",
    username: "builder",
    set_by: exampleIds.user,
    set_at: "2026-11-20T16:41:10.123Z",
  },
);
export type RegistryCredential = Static<typeof RegistryCredential>;

export const RegistryCredentialList = named(
  "RegistryCredentialList",
  { items: Type.Array(RegistryCredential) },
  { items: [exampleOf(RegistryCredential)] },
);
export type RegistryCredentialList = Static<typeof RegistryCredentialList>;
