// How many valid tokens an organization may have.

import { sql } from "kysely";
import type { Context } from "../context.ts";
import type { Queries } from "../db/database.ts";
import { findOrganizationLimits, lockOrganization } from "../limits/organization-limits.ts";
import { quotaExceeded } from "../limits/quota-exceeded.ts";

/**
 * Throws `quota_exceeded` where the organization has as many valid tokens as it may. Holds the organization until the transaction ends,
 * in which the token must be written; ask before anything else is locked (`lockCapacity`).
 */
export async function reserveToken(context: Context, transaction: Queries, orgId: string): Promise<void> {
  await lockOrganization(transaction, orgId);
  const limits = await findOrganizationLimits(transaction, orgId, context.limits.organization);
  const [used, limit] = [await countValidTokens(transaction, orgId), limits.quota_tokens];
  if (used + 1 > limit) throw quotaExceeded("tokens", { used, requested: 1, limit });
}

/** Tokens of the organization that are neither revoked nor expired. Two sums, each of one range of the index. */
export async function countValidTokens(db: Queries, orgId: string): Promise<number> {
  const valid = sql`select count(*) from api_tokens where org_id = ${orgId} and revoked_at is null`;
  const { rows } = await sql<{ valid: number }>`
    select ((${valid} and expires_at is null) + (${valid} and expires_at > now()))::integer as valid`.execute(
    db,
  );
  return rows[0]?.valid ?? 0;
}
