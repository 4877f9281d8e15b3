// How many snapshots an organization may keep, and how large together. What a snapshot will be is not known before it is taken, so the one that
// goes over the size is the last one.

import { sql } from "kysely";
import type { Context } from "../context.ts";
import type { Queries } from "../db/database.ts";
import { findOrganizationLimits } from "../limits/organization-limits.ts";
import { quotaExceeded } from "../limits/quota-exceeded.ts";

export interface HeldSnapshots {
  readonly snapshots: number;
  readonly snapshot_gib: number;
}

/** Those of forks that are being made are not the organization's own. */
export async function heldSnapshots(db: Queries, orgId: string): Promise<HeldSnapshots> {
  const { rows } = await sql<HeldSnapshots>`
    select count(*)::integer as snapshots,
      ceil(coalesce(sum(memory_bytes + disk_bytes), 0) / (1024 * 1024 * 1024.0))::integer as snapshot_gib
    from snapshots
    where org_id = ${orgId} and status in ('creating', 'ready', 'deleting') and not is_internal`.execute(db);
  return rows[0] ?? { snapshots: 0, snapshot_gib: 0 };
}

/** Under the organization's lock. Throws `quota_exceeded`. */
export async function checkSnapshotQuota(
  { limits: defaults }: Context,
  transaction: Queries,
  orgId: string,
): Promise<void> {
  const held = await heldSnapshots(transaction, orgId);
  const limits = await findOrganizationLimits(transaction, orgId, defaults.organization);
  const bySize = { used: held.snapshot_gib, requested: 1, limit: limits.quota_snapshot_gib };
  if (held.snapshots + 1 > limits.quota_snapshots)
    throw quotaExceeded("snapshots", {
      used: held.snapshots,
      requested: 1,
      limit: limits.quota_snapshots,
    });
  if (held.snapshot_gib + 1 > limits.quota_snapshot_gib) throw quotaExceeded("snapshot_gib", bySize);
}
