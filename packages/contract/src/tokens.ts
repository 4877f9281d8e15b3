// API tokens. The secret is in the answer that mints it and nowhere else.

import { Type, type Static } from "typebox";
import { Duration, pageOf, Timestamp } from "./common.ts";

const closed = { additionalProperties: false } as const;

export const TokenCreateRequest = Type.Object(
  {
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 100, default: "token" })),
    expires_in: Type.Optional(Type.String({ ...Duration, description: "Lifetime. Default: until revoked." })),
  },
  { $id: "TokenCreateRequest", ...closed },
);
export type TokenCreateRequest = Static<typeof TokenCreateRequest>;

const tokenFields = {
  id: Type.String(),
  name: Type.String(),
  organization_id: Type.String(),
  created_at: Timestamp,
  expires_at: Type.Union([Timestamp, Type.Null()]),
  last_used_at: Type.Union([Timestamp, Type.Null()]),
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
