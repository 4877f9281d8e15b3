// The limits of one organization where they differ from the installation's, and what the organization holds.

import { sql } from "kysely";
import { LIMIT_MAX, type LimitName, type OrganizationLimits, type QuotaName } from "@skerry/contract/quotas";
import { sandboxStatusesOnHost } from "@skerry/contract/sandbox-states";
import type { Database, Queries } from "./database.ts";

export async function limitsOf(
  db: Queries,
  orgId: string,
  defaults: OrganizationLimits,
): Promise<OrganizationLimits> {
  return { ...defaults, ...(await exceptionsOf(db, orgId)) };
}

export async function exceptionsOf(db: Queries, orgId: string): Promise<Partial<OrganizationLimits>> {
  const { rows } = await sql<{ name: LimitName; value: number }>`
    select name, value from organization_limits where org_id = ${orgId} order by name`.execute(db);
  return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
}

/** Null takes the installation's setting again. False where there is no such organization. */
export async function setLimits(
  db: Database,
  orgId: string,
  changes: readonly (readonly [name: LimitName, value: number | null])[],
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
    return true;
  });
}

/** Until the transaction ends nobody else places anything for this organization, so what it holds can be summed and then added to. */
export async function lockOrganization(transaction: Queries, orgId: string): Promise<boolean> {
  const { rows } = await sql`select 1 from organizations where id = ${orgId} for no key update`.execute(
    transaction,
  );
  return rows.length > 0;
}

/** What it holds now. In a transaction, call it after `lockOrganization`: a sum from before would miss what others add. */
export async function heldBy(db: Queries, orgId: string): Promise<Readonly<Record<QuotaName, number>>> {
  const onHost = sql`filter (where status in (${sql.join(sandboxStatusesOnHost)}))`;
  const { rows } = await sql<Record<Exclude<QuotaName, "machines">, number>>`
    select
      count(*)::integer as sandboxes,
      least(coalesce(sum(vcpus) ${onHost}, 0), ${LIMIT_MAX})::integer as vcpus,
      least(coalesce(sum(memory_mib) ${onHost}, 0), ${LIMIT_MAX})::integer as memory_mib,
      least(coalesce(sum(disk_gib), 0), ${LIMIT_MAX})::integer as disk_gib
    from sandboxes
    where org_id = ${orgId} and status not in ('failed', 'destroyed')`.execute(db);
  const [held] = rows;
  if (held === undefined) throw new Error("a sum returned no row");
  // There are no machines yet.
  return { ...held, machines: 0 };
}
