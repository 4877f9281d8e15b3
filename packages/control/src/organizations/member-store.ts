import { sql } from "kysely";
import type { Role } from "@skerry/contract/organizations/roles";
import type { Queries } from "../db/database.ts";

export interface MemberRow {
  readonly user_id: string;
  readonly name: string;
  readonly email: string | null;
  readonly role: Role;
  /** Of the membership. */
  readonly created_at: Date;
}

interface Place {
  readonly orgId: string;
  readonly userId: string;
}

/** Members of an organization change one after the other, so that two owners cannot both be the one who leaves. */
export async function holdMembers(transaction: Queries, orgId: string): Promise<void> {
  await sql`select 1 from organizations where id = ${orgId} for no key update`.execute(transaction);
}

export function findMember(db: Queries, { orgId, userId }: Place): Promise<MemberRow | undefined> {
  return membersOf(db, orgId).where("m.user_id", "=", userId).executeTakeFirst();
}

/** One who has this name, or else this address. */
export function findMemberCalled(
  db: Queries,
  orgId: string,
  { name, email }: { readonly name: string; readonly email: string | null },
): Promise<MemberRow | undefined> {
  return membersOf(db, orgId)
    .where((is) => is.or([is("u.name", "=", name), is("u.email", "=", email)]))
    .orderBy(sql`u.name = ${name}`, "desc")
    .limit(1)
    .executeTakeFirst();
}

/** Those who are users for the shortest time first. */
export function listMembers(
  db: Queries,
  page: { orgId: string; before: string | undefined; limit: number },
): Promise<MemberRow[]> {
  let query = membersOf(db, page.orgId).orderBy("m.user_id", "desc").limit(page.limit);
  if (page.before !== undefined) query = query.where("m.user_id", "<", page.before);
  return query.execute();
}

export async function hasOtherOwner(transaction: Queries, { orgId, userId }: Place): Promise<boolean> {
  const { rows } = await sql`
    select 1 from memberships where org_id = ${orgId} and role = 'owner' and user_id <> ${userId} limit 1`.execute(
    transaction,
  );
  return rows.length > 0;
}

export async function countMembers(db: Queries, orgId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from memberships where org_id = ${orgId}`.execute(db);
  return rows[0]?.count ?? 0;
}

export async function insertMember(transaction: Queries, member: Place & { role: Role }): Promise<void> {
  await transaction
    .insertInto("memberships")
    .values({ org_id: member.orgId, user_id: member.userId, role: member.role })
    .execute();
}

export async function setRole(transaction: Queries, member: Place & { role: Role }): Promise<void> {
  await transaction
    .updateTable("memberships")
    .set({ role: member.role })
    .where("org_id", "=", member.orgId)
    .where("user_id", "=", member.userId)
    .execute();
}

export async function deleteMember(transaction: Queries, { orgId, userId }: Place): Promise<void> {
  await transaction
    .deleteFrom("memberships")
    .where("org_id", "=", orgId)
    .where("user_id", "=", userId)
    .execute();
}

/** All of them. */
export async function deleteMembers(transaction: Queries, orgId: string): Promise<void> {
  await transaction.deleteFrom("memberships").where("org_id", "=", orgId).execute();
}

export async function insertUser(
  transaction: Queries,
  user: { id: string; name: string; email: string | null },
): Promise<void> {
  await transaction.insertInto("users").values(user).execute();
}

/** Until the transaction ends it is not forgotten. False where there is none. */
export async function holdUserRow(transaction: Queries, id: string): Promise<boolean> {
  const user = transaction.selectFrom("users").select("id").where("id", "=", id).forKeyShare();
  return (await user.executeTakeFirst()) !== undefined;
}

function membersOf(db: Queries, orgId: string) {
  return db
    .selectFrom("memberships as m")
    .innerJoin("users as u", "u.id", "m.user_id")
    .select(["m.user_id", "u.name", "u.email", "m.role", "m.created_at"])
    .where("m.org_id", "=", orgId);
}
