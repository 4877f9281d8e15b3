// What an operation needs, as the OpenAPI document shows it.

import type { Access } from "../api/operation.ts";

type Json = { [key: string]: unknown };

/** Adds what a caller needs: for people to the description, for programs as `security` and `x-` fields. */
export function documentAccess(operation: Json, access: Access | "public"): void {
  if (access === "public") {
    operation["security"] = [];
    return;
  }
  const { scope, orScope, role, rate, organization } = access;
  const needed =
    scope === null ? [[]] : [scope, orScope].flatMap((one) => (one === undefined ? [] : [[one]]));
  // Since OpenAPI 3.1 the list beside a scheme that is not OAuth names the roles that a call needs.
  operation["security"] = needed.flatMap((roles) => [{ bearer: roles }, { apiKey: roles }]);
  operation["x-required-scope"] = scope;
  operation["x-required-role"] = role;
  operation["x-rate-class"] = rate;
  const words = needed.flat().map((one) => `\`${one}\``);
  const token = scope === null ? "Any token will do" : `Needs a token with the scope ${words.join(" or ")}`;
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
