// The end of an organization. What it has must be gone before: nothing that runs is ended by the way. Its row and its audit log stay.

import { SkerryError } from "@skerry/contract/errors";
import { isId } from "@skerry/contract/ids";
import { recordCallElsewhere, recordOwnActs, type CallerAct } from "../audit/audit-log.ts";
import type { Context } from "../context.ts";
import type { Queries } from "../db/database.ts";
import { holdUser, revokeTokensOf } from "./token-store.ts";
import { lockForDeletion, markDeleted, vmsLeftIn } from "./deleted-organization-store.ts";
import { operatorOrganization } from "./operator-organization.ts";
import { forgetSecrets } from "../sealing/sealing.ts";
import { deleteMembers } from "./member-store.ts";

/** Every token of it ends, and all that came from one; no member is left. Throws `organization_not_empty` or `operator_organization`. */
export async function deleteOrganization(context: Context, act: CallerAct, orgId: string): Promise<void> {
  const members = await context.db.transaction().execute(async (transaction) => {
    // Until the end of this transaction nothing is placed for it, and no user becomes a member of it.
    const organization = isId("organization", orgId) ? await lockForDeletion(transaction, orgId) : undefined;
    if (organization === undefined)
      throw new SkerryError("organization_not_found", "There is no such organization.");
    if (organization.operator) throw operatorsOwn();
    const left = await vmsLeftIn(transaction, orgId);
    if (left.sandboxes + left.machines > 0) throw notEmpty(left);
    for (const userId of organization.members) await holdUser(transaction, userId);
    await deleteMembers(transaction, orgId);
    await revokeTokensOf(transaction, orgId);
    for (const room of context.rooms) await room.onOrganizationDeleted?.(transaction, orgId);
    await markDeleted(transaction, orgId);
    await forgetSecrets(transaction, orgId);
    await recordInOtherLog(transaction, act, orgId);
    return organization.members;
  });
  for (const userId of members) context.tokenCache.forget(userId);
}

/** The event of the request is in its caller's log. The operator's log names a member who deletes; an organization's does not name the
 *  operator's people. */
async function recordInOtherLog(transaction: Queries, act: CallerAct, orgId: string): Promise<void> {
  if (act.caller.orgId !== orgId) {
    const { action, resource } = act;
    const told = { service: "operator", action, resource };
    return recordOwnActs(transaction, told, [{ id: orgId, org_id: orgId }]);
  }
  const operator = await operatorOrganization(transaction);
  if (operator !== undefined) await recordCallElsewhere(transaction, act, operator);
}

function operatorsOwn(): SkerryError {
  return new SkerryError("operator_organization", "The operator's own organization cannot be deleted.", {
    remediation: "Without it no user could operate this installation.",
  });
}

function notEmpty({ sandboxes, machines }: { sandboxes: number; machines: number }): SkerryError {
  const parts = [
    ...(sandboxes > 0 ? [counted(sandboxes, "sandbox", "sandboxes")] : []),
    ...(machines > 0 ? [counted(machines, "machine", "machines")] : []),
  ];
  return new SkerryError("organization_not_empty", `The organization still has ${parts.join(" and ")}.`, {
    remediation: "Destroy them first; lists with `X-Org-ID` show them.",
    context: { sandboxes, machines },
  });
}

function counted(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`;
}
