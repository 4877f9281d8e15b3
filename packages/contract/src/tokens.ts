// API tokens. The secret is in the answer that mints it and nowhere else.

import { Type, type Static } from "typebox";
import { scopes } from "./access.ts";
import { Duration, Nullable, OneOf, pageOf, Timestamp } from "./common.ts";

const closed = { additionalProperties: false } as const;

export const Scopes = Type.Array(OneOf(scopes), {
  minItems: 1,
  maxItems: scopes.length,
  uniqueItems: true,
  description: "What the token may do, as far as its user may. `*`: everything.",
  examples: [["sandboxes:read", "sandboxes:write", "sandboxes:execute"]],
});

export const TokenCreateRequest = Type.Object(
  {
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 100, default: "token" })),
    expires_in: Type.Optional(Type.String({ ...Duration, description: "Lifetime. Default: until revoked." })),
    scopes: Type.Optional({
      ...Scopes,
      description: "Default: those of the token that asks, which are also the most that it can give.",
    }),
    bound: Type.Optional(
      Type.Boolean({
        description: "Whether it works in this organization only. Default: as the token that asks.",
      }),
    ),
  },
  { $id: "TokenCreateRequest", ...closed },
);
export type TokenCreateRequest = Static<typeof TokenCreateRequest>;

const tokenFields = {
  id: Type.String(),
  name: Type.String(),
  user_id: Type.String({ description: "Whose token it is." }),
  organization_id: Type.String({ description: "Where it works without `X-Org-ID`." }),
  scopes: Scopes,
  bound: Type.Boolean({ description: "It works in this organization only, also with `X-Org-ID`." }),
  created_at: Timestamp,
  expires_at: Nullable(Timestamp),
  last_used_at: Nullable(Timestamp),
};

export const Token = Type.Object(tokenFields, { $id: "Token", ...closed });
export type Token = Static<typeof Token>;

export const TokenList = pageOf(Token, "TokenList");
export type TokenList = Static<typeof TokenList>;

export const TokenCreated = Type.Object(
  { ...tokenFields, token: Type.String({ description: "The secret, `sk_…`. It is shown this once." }) },
  { $id: "TokenCreated", ...closed },
);
export type TokenCreated = Static<typeof TokenCreated>;
