// The private networks that the operator has granted to an organization.

import { sql } from "kysely";
import type { Context } from "../context.ts";
import type { Queries } from "../db/database.ts";
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

/** Replaces the grants, and has each room follow. False where there is no such organization. */
export async function setPrivateCidrs(
  { db, rooms }: Pick<Context, "db" | "rooms">,
  grant: { readonly orgId: string; readonly cidrs: readonly string[] },
  record: (transaction: Queries) => Promise<void>,
): Promise<boolean> {
  const { orgId, cidrs } = grant;
  return db.transaction().execute(async (transaction) => {
    if (!(await lockOrganization(transaction, orgId))) return false;
    for (const room of rooms) await room.onPrivateCidrs?.(transaction, grant);
    await transaction
      .updateTable("organizations")
      .set({ allowed_private_cidrs: cidrs })
      .where("id", "=", orgId)
      .execute();
    await record(transaction);
    return true;
  });
}
