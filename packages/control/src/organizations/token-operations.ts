import { Type } from "typebox";
import { PageQuery } from "@skerry/contract/page";
import { Me } from "@skerry/contract/organizations/organization";
import { TokenCreated, TokenCreateRequest, TokenList } from "@skerry/contract/organizations/token";
import type { Operations } from "../api/operation.ts";

export const tokenOperations = {
  createToken: {
    surface: "v1",
    method: "POST",
    path: "/v1/auth/tokens",
    client: "tokens.create",
    tag: "tokens",
    summary: "Mint a token",
    description:
      "Its secret is in this answer and nowhere else.\n\n" +
      "It never outlives the token of this request: without `expires_in` both end together, a longer one is refused.\n\n" +
      "An admin mints one for another member with `user_id` and the scope `org:write`, to hand over: it does what that member's role may, " +
      "in this organization only, and does not end with the token of this request, but with the membership.",
    body: TokenCreateRequest,
    isBodyOptional: true,
    answers: { 201: TokenCreated },
    access: { scope: "tokens:write", role: "member", rate: "expensive" },
    audit: { action: "token.create", resource: "token" },
    errors: ["invalid_duration", "timeout_too_long", "quota_exceeded", "member_not_found"],
  },
  listTokens: {
    surface: "v1",
    method: "GET",
    path: "/v1/auth/tokens",
    client: "tokens.list",
    tag: "tokens",
    summary: "List tokens",
    description: "The tokens of the organization, newest first, without their secrets.",
    query: PageQuery,
    answers: { 200: TokenList },
    access: { scope: "tokens:read", role: "viewer", rate: "read", ticketOf: "token" },
    audit: { action: "token.list", resource: "token" },
    errors: [],
  },
  revokeToken: {
    surface: "v1",
    method: "DELETE",
    path: "/v1/auth/tokens/:id",
    client: "tokens.revoke",
    tag: "tokens",
    summary: "Revoke a token",
    description:
      "All that it minted for its own user end with it: the next request with any of them is refused.",
    params: Type.Object({ id: Type.String() }),
    answers: { 204: Type.Null({ description: "It is revoked." }) },
    access: { scope: "tokens:write", role: "viewer", rate: "write", ticketOf: "token" },
    audit: { action: "token.revoke", resource: "token" },
    errors: ["token_not_found"],
  },
  getMe: {
    surface: "v1",
    method: "GET",
    path: "/v1/auth/me",
    client: "me",
    tag: "tokens",
    summary: "Show who is calling",
    description: "For which organization, and what the token can do there.",
    answers: { 200: Me },
    access: { scope: null, role: "viewer", rate: "read" },
    audit: { action: "user.get", resource: "user" },
    errors: [],
  },
} as const satisfies Operations;
