// Room on disks that the paused sandboxes of an organization take, for those that do not hold it from their
// creation on.

import type { Context } from "../context.ts";
import type { Queries } from "../db/database.ts";
import { exceptionsOf, lockOrganization } from "../limits/organization-limits.ts";
import { held } from "./capacity-rows.ts";
import { checkQuotas } from "./check-quotas.ts";

/** Locks the organization until the transaction ends. Throws `quota_exceeded` where it would keep too much with this. */
export async function checkPausedQuota(
  context: Context,
  transaction: Queries,
  { orgId, diskGib }: { readonly orgId: string; readonly diskGib: number },
): Promise<void> {
  await lockOrganization(transaction, orgId);
  const holding = {
    held: await held(transaction, orgId),
    exceptions: await exceptionsOf(transaction, orgId),
  };
  checkQuotas(context, holding, { persistent_disk_gib: diskGib });
}
