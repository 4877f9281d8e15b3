// How many builds of an organization may be under way, and how large its templates may be together. What a build will make is not known before,
// so the one that goes over the size is the last one.

import { sql } from "kysely";
import { buildStatusesUnderWay } from "@skerry/contract/builds/build-status";
import type { Context } from "../context.ts";
import type { Queries } from "../db/database.ts";
import { findOrganizationLimits } from "../limits/organization-limits.ts";
import { quotaExceeded } from "../limits/quota-exceeded.ts";
import { heldTemplateGib } from "../templates/own-templates.ts";

interface HeldBuilds {
  readonly builds: number;
  readonly template_gib: number;
}

export async function heldBuilds(db: Queries, orgId: string): Promise<HeldBuilds> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from builds
    where org_id = ${orgId} and status in (${sql.join(buildStatusesUnderWay)})`.execute(db);
  return { builds: rows[0]?.count ?? 0, template_gib: await heldTemplateGib(db, orgId) };
}

/** Under the organization's lock. Throws `quota_exceeded`. */
export async function checkBuildQuota(
  { limits: defaults }: Context,
  transaction: Queries,
  orgId: string,
): Promise<void> {
  const held = await heldBuilds(transaction, orgId);
  const limits = await findOrganizationLimits(transaction, orgId, defaults.organization);
  for (const quota of ["builds", "template_gib"] as const) {
    const limit = limits[`quota_${quota}`];
    if (held[quota] + 1 > limit) throw quotaExceeded(quota, { used: held[quota], requested: 1, limit });
  }
}
