import { sql } from "kysely";
import { newId } from "@skerry/contract/ids";
import type { Database, Queries } from "./database.ts";

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
