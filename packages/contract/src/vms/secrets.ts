// Secrets that a microVM has in its environment.

import { Type, type Static } from "typebox";
import { Nullable, Timestamp } from "../fields.ts";
import { SecretName } from "../secrets/secret.ts";
import { VM_SECRETS_MAX } from "../secrets/secret-bounds.ts";

const closed = { additionalProperties: false } as const;

export const secretsRequest = Type.Array(
  Type.Object(
    {
      name: Type.String({ ...SecretName, description: "Name of the secret." }),
      as: Type.Optional(
        Type.String({ ...SecretName, description: "Name of the variable; default: that of the secret." }),
      ),
    },
    closed,
  ),
  {
    maxItems: VM_SECRETS_MAX,
    description:
      "Secrets of the organization to have in the environment. Each start gives it their versions of that moment. Needs the scope `secrets:read` as well, because what runs in the VM reads them.",
  },
);

export const shownSecrets = Type.Array(
  Type.Object(
    {
      name: Type.String({ description: "Name of the secret." }),
      as: Type.String({ description: "Name of the variable." }),
      version: Nullable(
        Type.Integer({ description: "The version that it was given last; null: the secret is deleted." }),
      ),
      given_at: Nullable(Timestamp),
    },
    closed,
  ),
  { description: "Secrets in its environment, without their values." },
);
export type ShownSecret = Static<typeof shownSecrets>[number];
