// How many builds of an organization may be under way, and how large its templates may be together. What a build will make is not known before,
// so the one that goes over the size is the last one.

import { sql } from "kysely";
import { buildStatusesUnderWay } from "@skerry/contract/builds/build-status";
import type { Size } from "@skerry/contract/sizes";
import type { Context } from "../context.ts";
import type { Queries } from "../db/database.ts";
import { findOrganizationLimits } from "../limits/organization-limits.ts";
import { boundReached, quotaExceeded } from "../limits/quota-exceeded.ts";
import {
  countTemplates,
  heldTemplateGib,
  noteFrozenSize,
  type OwnTemplateRow,
} from "../templates/own-template-rows.ts";

const MIB_PER_GIB = 1024;
/** Versions of an organization: those of few bytes are not bounded by the size of all. */
export const TEMPLATES_MAX = 1_000;

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

/** Under the organization's lock. `frozen`: the sizes that the build will freeze; undefined: it makes no template. Throws `quota_exceeded`. */
export async function checkBuildQuota(
  { limits: defaults }: Context,
  transaction: Queries,
  { orgId, frozen }: { readonly orgId: string; readonly frozen: readonly Size[] | undefined },
): Promise<void> {
  const held = await heldBuilds(transaction, orgId);
  if (frozen !== undefined) {
    const used = await countTemplates(transaction, orgId);
    if (used >= TEMPLATES_MAX)
      throw boundReached({
        ...{ quota: "templates", nouns: "templates", used, limit: TEMPLATES_MAX },
        remediation: "Delete templates that you no longer need, which `skerry template list` shows.",
      });
  }
  const limits = await findOrganizationLimits(transaction, orgId, defaults.organization);
  const frozenMib = (frozen ?? []).reduce((sum, { memory_mib }) => sum + memory_mib, 0);
  const requested = { builds: 1, template_gib: Math.max(1, Math.ceil(frozenMib / MIB_PER_GIB)) };
  for (const quota of ["builds", ...(frozen === undefined ? [] : ["template_gib" as const])] as const) {
    const limit = limits[`quota_${quota}`];
    if (held[quota] + requested[quota] > limit)
      throw quotaExceeded(quota, { used: held[quota], requested: requested[quota], limit });
  }
}

/** A sandbox of this size has its host freeze the template for it, where that was not done before. Under the organization's lock. Throws
 *  `quota_exceeded`. */
export async function holdFrozenMemory(
  { limits: defaults }: Context,
  transaction: Queries,
  { template, size }: { readonly template: OwnTemplateRow; readonly size: Size },
): Promise<void> {
  if (!(await noteFrozenSize(transaction, template.id, size))) return;
  const limits = await findOrganizationLimits(transaction, template.org_id, defaults.organization);
  const held = await heldTemplateGib(transaction, template.org_id);
  if (held <= limits.quota_template_gib) return;
  const requested = Math.ceil(size.memory_mib / MIB_PER_GIB);
  throw quotaExceeded("template_gib", {
    used: held - requested,
    requested,
    limit: limits.quota_template_gib,
  });
}
