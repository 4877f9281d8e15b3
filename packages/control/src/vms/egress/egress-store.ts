// The egress policy of a sandbox or a machine: what is asked for, and how much of it its host has confirmed.

import { sql } from "kysely";
import type { Egress } from "@skerry/contract/vms/egress";
import type { Selectable } from "kysely";
import { lockOrganization } from "../../limits/organization-limits.ts";
import type { Database, Tables } from "../../db/database.ts";
import type { OwnerColumns } from "../owned.ts";

type Row = Pick<
  Selectable<Tables["vms"]>,
  | keyof OwnerColumns
  | "id"
  | "org_id"
  | "status"
  | "reason"
  | "host_id"
  | "execution_id"
  | "egress"
  | "egress_version"
>;

/** Replaces the policy of one that runs, or is paused; the last writer wins, unless it names the version that it replaces. Undefined where it is
 *  neither, does not exist, or has another version. */
export async function storeEgress(
  db: Database,
  change: { orgId: string; id: string; egress: Egress; version?: number | undefined },
): Promise<Row | undefined> {
  return db.transaction().execute(async (transaction) => {
    // A secret that is set meanwhile is set before, and read with the policy, or after, and tells it.
    if (change.egress.inject !== undefined) await lockOrganization(transaction, change.orgId);
    const { rows } = await sql<Row>`
    update vms set
      egress = ${JSON.stringify(change.egress)}::jsonb,
      egress_version = egress_version + 1,
      attempts = 0,
      retry_at = now()
    where id = ${change.id} and org_id = ${change.orgId} and status in ('running', 'paused')
      ${change.version === undefined ? sql`` : sql`and egress_version = ${change.version}`}
    returning *`.execute(transaction);
    return rows[0];
  });
}

/** The row as it is now, where its host has not confirmed its policy. */
export async function findUnappliedEgress(db: Database, id: string): Promise<Row | undefined> {
  const { rows } = await sql<Row>`
    select * from vms
    where id = ${id} and status = 'running' and egress_applied <> egress_version`.execute(db);
  return rows[0];
}

/** The host has confirmed the policy of this row, or has a later one already. Returns false where a later one is still owed to it. */
export async function confirmEgress(
  db: Database,
  applied: Pick<Row, "id" | "execution_id" | "egress_version">,
): Promise<boolean> {
  const { rows } = await sql<{ current: boolean }>`
    update vms set
      egress_applied = greatest(egress_applied, ${applied.egress_version}::integer)
    where id = ${applied.id} and execution_id = ${applied.execution_id} and status = 'running'
    returning egress_applied = egress_version as current`.execute(db);
  // Without a row it has ended, and there is nothing left to apply.
  return rows[0]?.current ?? true;
}
