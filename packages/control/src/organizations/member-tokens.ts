// A token for another member, who has lost theirs. An admin hands it over, so it is like the first one that a member gets.

import { SkerryError } from "@skerry/contract/errors";
import type { TokenCreated, TokenCreateRequest } from "@skerry/contract/organizations/token";
import { lowestRole, type Scope } from "@skerry/contract/organizations/scopes";
import { hasRole, type Role } from "@skerry/contract/organizations/roles";
import { authorize } from "../api/authorize.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import type { Creation } from "../idempotency/create-once.ts";
import { checkUserId, mustFind, refuseAbove, roleOf } from "./members.ts";
import { holdMembers } from "./member-store.ts";
import { createToken, tokenCreation } from "./tokens.ts";

/** Where `user_id` names another member, only an admin mints, and never for a member whose role is above the admin's own. */
export function anyTokenCreation(
  context: Context,
  caller: Caller,
  { user_id: userId, ...request }: TokenCreateRequest,
): Creation<TokenCreated> {
  if (userId === undefined || userId === caller.userId) return tokenCreation(context, caller, request);
  // Who may not add members learns nothing of who is one.
  authorize(caller, { scope: "org:write", role: "admin" });
  if (request.bound === false) throw alwaysBound();
  const member = { orgId: caller.orgId, userId: checkUserId(userId) };
  return {
    create: (attempt) =>
      createToken(
        context,
        {
          caller,
          request: { ...request, bound: true },
          ownerOf: async (transaction) => {
            await holdMembers(transaction, caller.orgId);
            const own = await roleOf(transaction, caller);
            const { role } = await mustFind(transaction, member);
            refuseAbove(own, role);
            refuseUnusable(request.scopes ?? [], role);
            return member.userId;
          },
        },
        attempt,
      ),
  };
}

/** A scope that never works would only look like a right. */
function refuseUnusable(asked: readonly Scope[], role: Role): void {
  const unusable = asked.find((scope) => scope !== "*" && !hasRole(role, lowestRole[scope]));
  if (unusable === undefined) return;
  throw new SkerryError(
    "forbidden",
    `The member's role, which is "${role}", is not good for the scope "${unusable}".`,
    {
      remediation: "Leave that scope out, or change the role of the member first.",
      context: { field: "scopes", value: unusable, role },
    },
  );
}

/** The admin has seen the token, and must not get into the member's other organizations by it. */
function alwaysBound(): SkerryError {
  return new SkerryError("forbidden", "A token for another member works in this organization only.", {
    remediation: "Leave out `bound`.",
    context: { field: "bound", value: false },
  });
}
