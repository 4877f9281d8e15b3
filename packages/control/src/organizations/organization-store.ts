import { sql, type Selectable } from "kysely";
import type { Role } from "@skerry/contract/organizations/roles";
import type { Egress } from "@skerry/contract/vms/egress";
import { newId } from "@skerry/contract/ids";
import type { Database, Queries, Tables } from "../db/database.ts";

export interface Membership {
  readonly org_id: string;
  readonly user_id: string;
}

/** Any number that no other user of the database's advisory locks takes. */
const BOOTSTRAP_LOCK = 7_070_002;

/** The first user and organization of this installation, made where there are none. Safe to call at the same time twice. */
export async function ensureFirstOrganization(db: Database): Promise<Membership> {
  return db.transaction().execute(async (transaction) => {
    await sql`select pg_advisory_xact_lock(${BOOTSTRAP_LOCK})`.execute(transaction);
    const first = await firstMembership(transaction);
    if (first !== undefined) return first;
    const membership = { org_id: newId("organization"), user_id: newId("user") };
    await transaction
      .insertInto("users")
      .values({ id: membership.user_id, name: "admin", email: null })
      .execute();
    await transaction
      .insertInto("organizations")
      .values({ id: membership.org_id, name: "default", operator: true, egress_default: "allow_all" })
      .execute();
    await transaction
      .insertInto("memberships")
      .values({ ...membership, role: "owner" })
      .execute();
    return membership;
  });
}

/** An owner of the operator's organization; there always is one, because the last owner cannot leave. */
function firstMembership(db: Queries): Promise<Membership | undefined> {
  return db
    .selectFrom("memberships as m")
    .innerJoin("organizations as o", "o.id", "m.org_id")
    .select(["m.org_id", "m.user_id"])
    .where("o.operator", "=", true)
    .where("m.role", "=", "owner")
    .orderBy("m.created_at")
    .orderBy("m.user_id")
    .limit(1)
    .executeTakeFirst();
}

/** An organization as one of its members sees it. */
export interface OrganizationRow extends Selectable<Tables["organizations"]> {
  readonly role: Role;
}

export async function insertOrganization(
  transaction: Queries,
  organization: { id: string; name: string; egress_default: Egress["mode"] },
): Promise<void> {
  await transaction
    .insertInto("organizations")
    .values({ ...organization, operator: false })
    .execute();
}

export async function findOrganization(
  db: Queries,
  member: { orgId: string; userId: string },
): Promise<OrganizationRow | undefined> {
  return organizationsOf(db, member.userId).where("o.id", "=", member.orgId).executeTakeFirst();
}

/** Newest first; with a bound token, the one that it is bound to. */
export function listOrganizations(
  db: Queries,
  page: { userId: string; tokenId: string; before: string | undefined; limit: number },
): Promise<OrganizationRow[]> {
  let query = organizationsOf(db, page.userId)
    .where(
      sql<boolean>`not exists (select 1 from api_tokens t where t.id = ${page.tokenId} and t.bound and t.org_id <> o.id)`,
    )
    .orderBy("o.id", "desc")
    .limit(page.limit);
  if (page.before !== undefined) query = query.where("o.id", "<", page.before);
  return query.execute();
}

export async function updateOrganization(
  db: Queries,
  orgId: string,
  change: { name?: string; egress_default?: Egress["mode"]; audit_details?: boolean },
): Promise<void> {
  if (Object.keys(change).length === 0) return;
  await db.updateTable("organizations").set(change).where("id", "=", orgId).execute();
}

function organizationsOf(db: Queries, userId: string) {
  return db
    .selectFrom("organizations as o")
    .innerJoin("memberships as m", "m.org_id", "o.id")
    .selectAll("o")
    .select("m.role")
    .where("m.user_id", "=", userId);
}
