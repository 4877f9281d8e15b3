import { hasRole } from "@skerry/contract/organizations/roles";
import { SkerryError } from "@skerry/contract/errors";
import { operatorScopes, type Scope } from "@skerry/contract/organizations/scopes";
import type { Caller } from "../caller.ts";
import type { Access } from "./operation.ts";

/** Throws `forbidden` where the caller lacks what the call needs, and says what that is. */
export function authorize(
  caller: Caller,
  { scope, orScope, role }: Pick<Access, "scope" | "orScope" | "role">,
): void {
  if (!hasRole(caller.role, role)) {
    throw new SkerryError(
      "forbidden",
      `This call needs the role "${role}"; yours in this organization is "${caller.role}".`,
      {
        remediation: "Ask an owner or an admin of the organization.",
        context: { required_role: role, role: caller.role, organization_id: caller.orgId },
      },
    );
  }
  if (scope !== null && !caller.scopes.has(scope) && !(orScope !== undefined && caller.scopes.has(orScope))) {
    if (isOfOperator(scope)) throw operatorOnly(caller, scope);
    const needed = orScope === undefined ? `"${scope}"` : `"${scope}" or "${orScope}"`;
    throw new SkerryError("forbidden", `The token does not have the scope ${needed} in this organization.`, {
      remediation: `Use a token with the scope ${needed}; \`GET /v1/auth/me\` shows what yours has.`,
      context: { required_scope: scope, organization_id: caller.orgId },
    });
  }
}

/** A token of another organization has every scope that it can have, and still not this one. */
export function isOfOperator(scope: Scope): boolean {
  return operatorScopes.includes(scope);
}

export function operatorOnly({ orgId }: Pick<Caller, "orgId">, scope: Scope): SkerryError {
  return new SkerryError(
    "forbidden",
    `This call needs the scope "${scope}", which only tokens of the operator's organization can have.`,
    {
      remediation:
        "Ask the operator of this server. Where that is you, name its organization in `X-Org-ID`; `GET /v1/auth/me` shows the organization and the scopes of this call.",
      context: { required_scope: scope, organization_id: orgId },
    },
  );
}
