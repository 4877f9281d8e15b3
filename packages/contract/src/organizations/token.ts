// API tokens. The secret is in the answer that mints it and nowhere else.

import { Type, type Static } from "typebox";
import { scopes, type Scope } from "./scopes.ts";
import { Duration, Nullable, OneOf, Timestamp } from "../fields.ts";
import { named } from "../named.ts";
import { pageOf } from "../page.ts";
import { exampleIds } from "../example-ids.ts";

export const Scopes = Type.Array(OneOf(scopes), {
  minItems: 1,
  maxItems: scopes.length,
  uniqueItems: true,
  description: "What the token may do, as far as its user may. `*`: everything.",
  examples: [["sandboxes:read", "sandboxes:write", "sandboxes:execute"]],
});

const exampleScopes: Scope[] = ["sandboxes:read", "sandboxes:write", "sandboxes:execute"];

export const TokenCreateRequest = named(
  "TokenCreateRequest",
  {
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 100, default: "token" })),
    expires_in: Type.Optional(Type.String({ ...Duration, description: "Lifetime. Default: until revoked." })),
    scopes: Type.Optional({
      ...Scopes,
      description: "Default: those of the token that asks, which are also the most that it can give.",
    }),
    user_id: Type.Optional(
      Type.String({ description: "Whose it will be: a member of the organization. Default: the caller." }),
    ),
    bound: Type.Optional(
      Type.Boolean({
        description: "Whether it works in this organization only. Default: as the token that asks.",
      }),
    ),
  },
  {
    name: "ci",
    scopes: exampleScopes,
    expires_in: "720h",
  },
);
export type TokenCreateRequest = Static<typeof TokenCreateRequest>;

const tokenFields = {
  id: Type.String(),
  name: Type.String(),
  user_id: Type.String({ description: "Whose token it is." }),
  organization_id: Type.String({ description: "Where it works without `X-Org-ID`." }),
  parent_id: Nullable(
    Type.String({
      description:
        "The token of this organization that minted it, and with which it ends; null where there is none.",
    }),
  ),
  scopes: Scopes,
  bound: Type.Boolean({ description: "It works in this organization only, also with `X-Org-ID`." }),
  created_at: Timestamp,
  expires_at: Nullable(Timestamp),
  last_used_at: Nullable(Timestamp),
};

const exampleToken = {
  id: exampleIds.token,
  name: "ci",
  user_id: exampleIds.user,
  organization_id: exampleIds.organization,
  parent_id: null,
  scopes: exampleScopes,
  bound: false,
  created_at: "2026-11-20T16:21:09.123Z",
  expires_at: "2026-12-20T16:21:09.123Z",
  last_used_at: null,
};

export const Token = named("Token", tokenFields, exampleToken);
export type Token = Static<typeof Token>;

export const TokenList = pageOf(Token, "TokenList");
export type TokenList = Static<typeof TokenList>;

export const TokenCreated = named(
  "TokenCreated",
  { ...tokenFields, token: Type.String({ description: "The secret, `sk_…`. It is shown this once." }) },
  { ...exampleToken, token: "sk_NEVERUSETHISEXAMPLEASATOKEN0123456789ABCDEF" },
);
export type TokenCreated = Static<typeof TokenCreated>;
