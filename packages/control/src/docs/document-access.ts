// What an operation needs, as the OpenAPI document shows it.

import type { Access } from "../api/operation.ts";

type Json = { [key: string]: unknown };

/** Adds what a caller needs: for people to the description, for programs as `security` and `x-` fields. */
export function documentAccess(operation: Json, access: Access | "public"): void {
  if (access === "public") {
    operation["security"] = [];
    return;
  }
  const { scope, role, rate, organization } = access;
  const needed = scope === null ? [] : [scope];
  // Since OpenAPI 3.1 the list beside a scheme that is not OAuth names the roles that a call needs.
  operation["security"] = [{ bearer: needed }, { apiKey: needed }];
  operation["x-required-scope"] = scope;
  operation["x-required-role"] = role;
  operation["x-rate-class"] = rate;
  const token = scope === null ? "Any token will do" : `Needs a token with the scope \`${scope}\``;
  const sentence = `${token}${role === "viewer" ? "" : `, of a user with the role \`${role}\` or a higher one`}.`;
  const description = operation["description"];
  operation["description"] = typeof description === "string" ? `${description}\n\n${sentence}` : sentence;
  if (organization !== "path") {
    operation["parameters"] = [...((operation["parameters"] ?? []) as Json[]), ORGANIZATION_HEADER];
  }
}

const ORGANIZATION_HEADER = {
  name: "X-Org-ID",
  in: "header",
  required: false,
  schema: { type: "string" },
  description: "Another organization that you are a member of. Default: the token's own.",
};
