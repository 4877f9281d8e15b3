// The limits of one organization where they differ from the installation's.

import { sql } from "kysely";
import type { LimitName, OrganizationLimits } from "@skerry/contract/limits/quotas";
import { recordOwnActs } from "../audit/audit-log.ts";
import type { Database, Queries } from "../db/database.ts";

export type LimitChange = readonly [name: LimitName, value: number | null];

export async function findOrganizationLimits(
  db: Queries,
  orgId: string,
  defaults: OrganizationLimits,
): Promise<OrganizationLimits> {
  return { ...defaults, ...(await exceptionsOf(db, orgId)) };
}

export async function isOrganization(db: Queries, orgId: string): Promise<boolean> {
  const { rows } = await sql`select 1 from organizations where id = ${orgId} and deleted_at is null`.execute(
    db,
  );
  return rows.length > 0;
}

export async function exceptionsOf(db: Queries, orgId: string): Promise<Partial<OrganizationLimits>> {
  const { rows } = await sql<{ name: LimitName; value: number }>`
    select name, value from organization_limits where org_id = ${orgId} order by name`.execute(db);
  return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
}

/** Null takes the installation's setting again. The organization's audit log tells that they changed. False where there is no such
 *  organization. */
export async function setLimits(
  db: Database,
  orgId: string,
  changes: readonly LimitChange[],
): Promise<boolean> {
  return db.transaction().execute(async (transaction) => {
    if (!(await lockOrganization(transaction, orgId))) return false;
    for (const [name, value] of changes) {
      await (
        value === null
          ? sql`delete from organization_limits where org_id = ${orgId} and name = ${name}`
          : sql`
            insert into organization_limits (org_id, name, value) values (${orgId}, ${name}, ${value})
            on conflict (org_id, name) do update set value = excluded.value`
      ).execute(transaction);
    }
    if (changes.length > 0) await recordOwnActs(transaction, CHANGE, [{ id: orgId, org_id: orgId }]);
    return true;
  });
}

const CHANGE = { service: "operator", action: "organization.set_limits", resource: "organization" } as const;

/** Until the transaction ends no other request places anything for this organization, so what it holds can be summed and then added to. */
export async function lockOrganization(transaction: Queries, orgId: string): Promise<boolean> {
  const { rows } =
    await sql`select 1 from organizations where id = ${orgId} and deleted_at is null for no key update`.execute(
      transaction,
    );
  return rows.length > 0;
}
