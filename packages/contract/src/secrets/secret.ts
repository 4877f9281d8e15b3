// Secrets of an organization. A value is written and never read: an answer shows which version it is, who
// set it and when.

import { Type, type Static } from "typebox";
import { exampleIds } from "../example-ids.ts";
import { Nullable, Timestamp } from "../fields.ts";
import { exampleOf, named } from "../named.ts";
import { SECRET_NAME_MAX_CHARS, SECRET_NAME_PATTERN, SECRET_VALUE_MAX_BYTES } from "./secret-bounds.ts";

export const SecretName = Type.String({
  maxLength: SECRET_NAME_MAX_CHARS,
  pattern: SECRET_NAME_PATTERN,
  description: "A name as variables of an environment have it: letters, digits and `_`, no digit first.",
});

export const SecretSetRequest = named(
  "SecretSetRequest",
  {
    value: Type.String({
      minLength: 1,
      maxLength: SECRET_VALUE_MAX_BYTES,
      description: `Text of at most ${SECRET_VALUE_MAX_BYTES / 1024} KiB in UTF-8, without a NUL. No answer of the API has it.`,
    }),
  },
  { value: "NEVERUSETHISEXAMPLE" },
);
export type SecretSetRequest = Static<typeof SecretSetRequest>;

export const SecretRollbackRequest = named(
  "SecretRollbackRequest",
  { version: Type.Integer({ minimum: 1, description: "Its value becomes that of a new version." }) },
  { version: 1 },
);
export type SecretRollbackRequest = Static<typeof SecretRollbackRequest>;

const version = {
  version: Type.Integer({ minimum: 1 }),
  digest: Type.String({
    description:
      "16 hexadecimal digits that are the same for the same value, within the organization: the beginning of an HMAC under a key of it.",
  }),
  set_by: Nullable(Type.String({ description: "The user who set it." })),
  set_at: Timestamp,
};

export const SecretVersion = named(
  "SecretVersion",
  {
    ...version,
    rolled_back_to: Nullable(
      Type.Integer({ description: "The version whose value it has by a rollback; null: it was set." }),
    ),
  },
  {
    version: 2,
    digest: "9f2c4e1a77d0b385",
    set_by: exampleIds.user,
    set_at: "2026-11-20T16:41:10.123Z",
    rolled_back_to: null,
  },
);
export type SecretVersion = Static<typeof SecretVersion>;

export const Secret = named(
  "Secret",
  { name: Type.String(), ...version },
  {
    name: "API_KEY",
    version: 2,
    digest: "9f2c4e1a77d0b385",
    set_by: exampleIds.user,
    set_at: "2026-11-20T16:41:10.123Z",
  },
);
export type Secret = Static<typeof Secret>;

export const SecretHistory = named(
  "SecretHistory",
  {
    ...Secret.properties,
    versions: Type.Array(SecretVersion, {
      description: "Newest first. Those before the last ten are forgotten.",
    }),
  },
  { ...exampleOf(Secret), versions: [exampleOf(SecretVersion)] },
);
export type SecretHistory = Static<typeof SecretHistory>;

export const SecretDeleted = named(
  "SecretDeleted",
  {
    name: Type.String(),
    still_in: Type.Array(Type.String(), {
      description: "Ids of sandboxes and machines whose environment has it until they end or start again.",
    }),
  },
  { name: "API_KEY", still_in: [exampleIds.sandbox] },
);
export type SecretDeleted = Static<typeof SecretDeleted>;

export const SecretList = named("SecretList", { items: Type.Array(Secret) }, { items: [exampleOf(Secret)] });
export type SecretList = Static<typeof SecretList>;
