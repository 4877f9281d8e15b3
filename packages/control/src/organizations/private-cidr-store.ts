// The private networks that the operator has granted to an organization.

import { sql } from "kysely";
import type { Build } from "@skerry/contract/builds/build";
import { buildStatusesUnderWay } from "@skerry/contract/builds/build-status";
import type { Database, Queries } from "../db/database.ts";
import { lockOrganization } from "../limits/organization-limits.ts";

/** Undefined where there is no such organization. */
export async function privateCidrsOf(db: Queries, orgId: string): Promise<readonly string[] | undefined> {
  const row = await db
    .selectFrom("organizations")
    .select("allowed_private_cidrs")
    .where("id", "=", orgId)
    .where("deleted_at", "is", null)
    .executeTakeFirst();
  return row?.allowed_private_cidrs;
}

export interface Granted {
  readonly organization_id: string;
  readonly name: string;
  readonly allowed_private_cidrs: readonly string[];
}

/** Organizations that have grants. */
export async function listGranted(db: Queries): Promise<Granted[]> {
  const { rows } = await sql<Granted>`
    select id as organization_id, name, allowed_private_cidrs from organizations
    where allowed_private_cidrs <> '{}' order by id`.execute(db);
  return rows;
}

/** Replaces the grants, and raises the version of every policy that they may bear on: hosts are told again. A sandbox or a machine that is
 *  being started, or whose host is lost, has its policy brought to it once it runs. Builds that may reach a network that is withdrawn are canceled: their policy never
 *  changes. False where there is no such organization. */
export async function setPrivateCidrs(
  db: Database,
  { orgId, cidrs }: { readonly orgId: string; readonly cidrs: readonly string[] },
  record: (transaction: Queries) => Promise<void>,
): Promise<boolean> {
  return db.transaction().execute(async (transaction) => {
    if (!(await lockOrganization(transaction, orgId))) return false;
    await cancelBuildsReaching(transaction, orgId, cidrs);
    await transaction
      .updateTable("organizations")
      .set({ allowed_private_cidrs: cidrs })
      .where("id", "=", orgId)
      .execute();
    await sql`
      update vms set egress_version = egress_version + 1, attempts = 0, retry_at = now()
      where org_id = ${orgId} and status not in ('destroying', 'destroyed')
        and jsonb_array_length(egress -> 'allow_cidrs') > 0`.execute(transaction);
    await record(transaction);
    return true;
  });
}

const WITHDRAWN: Build["error"] = {
  code: "egress_forbidden",
  message:
    "The operator withdrew a private network that the build was allowed to reach. Retry it without that network.",
  ...{ step: null, exit_code: null, last_lines: [] },
};

/** Those under way whose policy allows something of a network that is granted now and is not among the next grants. Their microVMs go in the builder's next turn. */
async function cancelBuildsReaching(
  transaction: Queries,
  orgId: string,
  next: readonly string[],
): Promise<void> {
  await sql`
    update builds set
      status = 'canceled', version = version + 1, attempts = 0, retry_at = now(), finished_at = now(),
      error = ${JSON.stringify(WITHDRAWN)}::jsonb
    where org_id = ${orgId} and status in (${sql.join(buildStatusesUnderWay)}) and exists (
      select 1 from organizations, unnest(allowed_private_cidrs) granted, jsonb_array_elements_text(egress -> 'allow_cidrs') allowed
      where organizations.id = ${orgId} and granted::inet && allowed::inet
        and not granted::inet <<= any(${next}::text[]::inet[])
    )`.execute(transaction);
}
