// How a browser logs in and out.

import { Type } from "typebox";
import { Me } from "@skerry/contract/organizations/organization";
import {
  LoginCode,
  LoginCodeOwner,
  LoginCodeQuestion,
  SessionCreateRequest,
} from "@skerry/contract/organizations/login";
import type { Operations } from "../api/operation.ts";

export const loginOperations = {
  createLoginCode: {
    surface: "v1",
    method: "POST",
    path: "/v1/auth/login-codes",
    client: "by hand",
    tag: "tokens",
    summary: "Mint a login code",
    description:
      "It logs one browser in within 60 s: `/ui/login#code=…` of this server sends it to `POST /v1/auth/sessions`. The session has the rights of the token of this request, " +
      "and ends with it. The code is in this answer and nowhere else.",
    isBodyOptional: true,
    answers: { 200: LoginCode },
    access: { scope: null, role: "viewer", rate: "expensive" },
    audit: { action: "session.code", resource: "token" },
    errors: [],
  },
  describeLoginCode: {
    surface: "v1",
    method: "POST",
    path: "/v1/auth/login-codes/owner",
    client: "by hand",
    tag: "tokens",
    summary: "Look up whom a login code logs in",
    description:
      "It leaves the code as it is. The page `/ui/login#code=…` asks with it before it logs the browser in, because its address may have come from another person.",
    body: LoginCodeQuestion,
    answers: { 200: LoginCodeOwner },
    access: "public",
    errors: ["unauthorized", "organization_not_found", "rate_limited", "database_unavailable"],
  },
  createSession: {
    surface: "v1",
    method: "POST",
    path: "/v1/auth/sessions",
    client: "by hand",
    tag: "tokens",
    summary: "Log a browser in",
    description:
      "For the pages of this server, whose scripts must not know a token: mints one with the rights of the given one, which is in the cookie of this answer and nowhere else. " +
      "It ends after 12 h, after an hour without a request, and with the given token. The cookie counts only for requests that a page of the same origin makes, " +
      "and only where they have neither `Authorization` nor `X-API-Key`. A token has ten sessions at most; the next login ends the oldest.\n\n" +
      "`X-Org-ID` names the organization of the session; by default it is the token's own. In the place of the token there can be a login code, which is spent by this: " +
      "the session stands for the token that has minted the code, in the organization that the code was minted in, and `X-Org-ID` says nothing.",
    body: SessionCreateRequest,
    answers: { 200: Me },
    access: "public",
    errors: ["unauthorized", "forbidden", "organization_not_found", "rate_limited", "database_unavailable"],
  },
  endSession: {
    surface: "v1",
    method: "DELETE",
    path: "/v1/auth/sessions",
    client: "by hand",
    tag: "tokens",
    summary: "Log this browser out",
    description:
      "Ends the session that the request comes with. Any other token goes on: `DELETE /v1/auth/tokens/{id}` revokes it.",
    answers: { 204: Type.Null({ description: "It has ended." }) },
    access: { scope: null, role: "viewer", rate: "write", ticketOf: "token" },
    audit: { action: "session.end", resource: "token" },
    errors: [],
  },
} as const satisfies Operations;
