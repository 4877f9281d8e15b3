// How many apps an organization may have. Their instances are machines, and count as such.

import { sql } from "kysely";
import type { Context } from "../context.ts";
import type { Queries } from "../db/database.ts";
import { findOrganizationLimits } from "../limits/organization-limits.ts";
import { quotaExceeded } from "../limits/quota-exceeded.ts";

/** One that is being deleted counts until it is gone. */
export async function countApps(db: Queries, orgId: string): Promise<number> {
  const { rows } = await sql<{ apps: number }>`
    select count(*)::integer as apps from apps where org_id = ${orgId}`.execute(db);
  return rows[0]?.apps ?? 0;
}

/** Under the organization's lock. Throws `quota_exceeded`. */
export async function checkAppQuota(
  { limits: defaults }: Context,
  transaction: Queries,
  orgId: string,
): Promise<void> {
  const used = await countApps(transaction, orgId);
  const { quota_apps: limit } = await findOrganizationLimits(transaction, orgId, defaults.organization);
  if (used + 1 > limit) throw quotaExceeded("apps", { used, requested: 1, limit });
}
