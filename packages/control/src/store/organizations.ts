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
    await transaction.insertInto("users").values({ id: membership.user_id, name: "admin" }).execute();
    await transaction
      .insertInto("organizations")
      .values({ id: membership.org_id, name: "default" })
      .execute();
    await transaction.insertInto("memberships").values(membership).execute();
    return membership;
  });
}

function firstMembership(db: Queries): Promise<Membership | undefined> {
  return db
    .selectFrom("memberships")
    .select(["org_id", "user_id"])
    .orderBy("created_at")
    .orderBy("org_id")
    .limit(1)
    .executeTakeFirst();
}
