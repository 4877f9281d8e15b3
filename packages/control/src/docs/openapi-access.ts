// What the table of access says of an operation, as the OpenAPI document shows it.

import { operations, type Access } from "../api/operations.ts";

type Json = { [key: string]: unknown };

/** Adds what a caller needs: for people to the description, for programs as `security` and `x-` fields. */
export function documentAccess(operation: Json): void {
  const name = String(operation["operationId"]);
  const entry = Object.entries(operations).find(([known]) => known === name)?.[1];
  if (entry === undefined) throw new Error(`the operation "${name}" is not in api/operations.ts`);
  if (entry === "public") {
    operation["security"] = [];
    return;
  }
  const { scope, role, rate, organization }: Access = entry;
  const needed = scope === null ? [] : [scope];
  // Since OpenAPI 3.1 the list beside a scheme that is not OAuth names the roles that a call needs.
  operation["security"] = [{ bearer: needed }, { apiKey: needed }];
  operation["x-required-scope"] = scope;
  operation["x-required-role"] = role;
  operation["x-rate-class"] = rate;
  const token = scope === null ? "Any token will do" : `Needs a token with the scope \`${scope}\``;
  const sentence = `${token}${role === "viewer" ? "" : `, of somebody with the role \`${role}\` or a higher one`}.`;
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
