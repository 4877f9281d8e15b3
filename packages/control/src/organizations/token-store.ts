import { sql, type RawBuilder, type Selectable } from "kysely";
import type { Role } from "@skerry/contract/organizations/roles";
import type { Scope } from "@skerry/contract/organizations/scopes";
import type { Database, Queries, Tables } from "../db/database.ts";
import { daysAgo } from "../db/steady-time.ts";

export type TokenRow = Omit<Selectable<Tables["api_tokens"]>, "secret_sha256" | "after_first_use">;

export interface NewToken {
  readonly id: string;
  readonly org_id: string;
  readonly user_id: string;
  readonly name: string;
  readonly secret_sha256: Buffer;
  /** The token that mints it; null where none does. */
  readonly parent_id: string | null;
  /** The token that it must not outlive; null where nothing asks for it. */
  readonly within_id: string | null;
  readonly scopes: readonly Scope[];
  /** Works in its own organization only. */
  readonly bound: boolean;
  /** Null: as long as the token of `within_id`, and without one until revoked. */
  readonly lifetimeMs: number | null;
  /** Seconds without use after which it ends; null: it is no session. */
  readonly idle_s: number | null;
  /** `lifetimeMs` is for a token that is not used; after its first use it ends as one without a lifetime. */
  readonly isInvitation: boolean;
}

/** One of another organization is not told: its members know nothing of it. */
const parentHere = sql<string | null>`(
  select parent.id from api_tokens parent where parent.id = api_tokens.parent_id and parent.org_id = api_tokens.org_id
)`;

const columns = [
  "id",
  "org_id",
  "user_id",
  "name",
  "scopes",
  "bound",
  parentHere.as("parent_id"),
  "idle_s",
  "created_at",
  "expires_at",
  "last_used_at",
  "revoked_at",
] as const;

export async function insertToken(db: Queries, token: NewToken): Promise<TokenRow> {
  const { lifetimeMs, within_id, isInvitation, ...values } = token;
  const end = sql<Date | null>`(select asking.expires_at from api_tokens asking where asking.id = ${within_id})`;
  return db
    .insertInto("api_tokens")
    .values({
      ...values,
      expires_at: sql<Date>`least(now() + ${lifetimeMs}::double precision * interval '1 millisecond', ${end})`,
      after_first_use: isInvitation ? sql<Date>`coalesce(${end}, 'infinity')` : null,
    })
    .returning(columns)
    .executeTakeFirstOrThrow();
}

export interface Parent {
  readonly id: string;
  /** Null: valid until revoked. */
  readonly expires_at: Date | null;
  /** Whether a child that lives for the given time would outlive it. */
  readonly outlived: boolean;
  readonly scopes: readonly Scope[];
  readonly bound: boolean;
}

/**
 * A token that is about to mint another one, and whether it ends before `lifetimeMs` is over. Until this transaction ends no other
 * one can revoke it or remove its user, so that no child token slips in behind. In a session it is the token that the session stands for.
 * Undefined where it is not valid any more.
 */
export async function holdParent(
  transaction: Queries,
  caller: { readonly tokenId: string; readonly userId: string; readonly orgId: string },
  lifetimeMs: number | null,
): Promise<Parent | undefined> {
  // A statement of its own: the next one must see what was revoked while this one waited.
  await sql`select 1 from users where id = ${caller.userId} for share`.execute(transaction);
  const { rows } = await sql<Parent>`
    select parent.id, parent.expires_at, parent.scopes, parent.bound,
      coalesce(parent.expires_at < now() + ${lifetimeMs}::double precision * interval '1 millisecond', false) as outlived
    from api_tokens asking
    join api_tokens parent on parent.id = case when asking.idle_s is null then asking.id else asking.parent_id end
    where asking.id = ${caller.tokenId} and asking.revoked_at is null
      and (asking.expires_at is null or asking.expires_at > now())
      and parent.revoked_at is null and (parent.expires_at is null or parent.expires_at > now())
      and exists (select 1 from memberships where user_id = ${caller.userId} and org_id = ${caller.orgId})`.execute(
    transaction,
  );
  return rows[0];
}

export function findToken(db: Database, id: string): Promise<TokenRow | undefined> {
  return db.selectFrom("api_tokens").select(columns).where("id", "=", id).executeTakeFirst();
}

/** When a token ends by itself: a session also where it is not used. */
const endsAt = sql<Date | null>`least(expires_at, coalesce(last_used_at, created_at) + idle_s * interval '1 second')`;

/** Newest first, of one user or of all. Tokens that are revoked are not shown, nor sessions that have ended: each login leaves one. */
export function listTokens(
  db: Database,
  page: { orgId: string; userId: string | null; before: string | undefined; limit: number },
): Promise<TokenRow[]> {
  let query = db
    .selectFrom("api_tokens")
    .select(columns)
    .where("org_id", "=", page.orgId)
    .where("revoked_at", "is", null)
    .where((token) => token.or([token("idle_s", "is", null), token(endsAt, ">", sql<Date>`now()`)]))
    .orderBy("id", "desc")
    .limit(page.limit);
  if (page.userId !== null) query = query.where("user_id", "=", page.userId);
  if (page.before !== undefined) query = query.where("id", "<", page.before);
  return query.execute();
}

/** Whose token it is, and what they are in the organization; undefined where the organization never had such a token. */
export function tokenOwner(
  db: Database,
  orgId: string,
  id: string,
): Promise<{ user_id: string; role: Role | null } | undefined> {
  return db
    .selectFrom("api_tokens as t")
    .leftJoin("memberships as m", (join) =>
      join.onRef("m.user_id", "=", "t.user_id").onRef("m.org_id", "=", "t.org_id"),
    )
    .select(["t.user_id", "m.role"])
    .where("t.id", "=", id)
    .where("t.org_id", "=", orgId)
    .executeTakeFirst();
}

/**
 * Revokes a token and all that came from it, in all organizations. Revoking twice is no error and keeps the first
 * time.
 */
export async function revokeToken(db: Database, userId: string, id: string): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await holdUser(transaction, userId);
    await revokeFamilies(transaction, sql`id = ${id}`);
  });
}

/** Sessions of a token beyond the newest so many. */
export async function revokeOldSessions(transaction: Queries, parentId: string, kept: number): Promise<void> {
  await sql`
    update api_tokens set revoked_at = now()
    where id in (
      select id from api_tokens
      where parent_id = ${parentId} and idle_s is not null and revoked_at is null
      order by id desc offset ${kept}
    )`.execute(transaction);
}

/** Sessions that ended more than a day ago. Nothing is minted below a session, and the audit log keeps ids alone. */
export async function sweepSessions(db: Database, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from api_tokens where id in (
      select id from api_tokens
      where idle_s is not null and least(revoked_at, ${endsAt}) < ${daysAgo(1)} limit ${limit}
    )`.execute(db);
  return Number(numAffectedRows ?? 0);
}

/** All tokens that a user has in an organization, and all that came from them. Hold the user first. */
export async function revokeTokensIn(
  transaction: Queries,
  member: { readonly orgId: string; readonly userId: string },
): Promise<void> {
  await revokeFamilies(transaction, sql`user_id = ${member.userId} and org_id = ${member.orgId}`);
}

/** All tokens of an organization, and all that came from them. Hold its members first. */
export async function revokeTokensOf(transaction: Queries, orgId: string): Promise<void> {
  await revokeFamilies(transaction, sql`org_id = ${orgId}`);
}

/** All tokens of a family are one user's; a request that mints one holds the same row (`holdParent`), so that no child slips in behind. */
export async function holdUser(transaction: Queries, userId: string): Promise<void> {
  await sql`select 1 from users where id = ${userId} for no key update`.execute(transaction);
}

async function revokeFamilies(transaction: Queries, which: RawBuilder<unknown>): Promise<void> {
  await sql`
    with recursive family as (
      select id from api_tokens where ${which}
      union
      select child.id from api_tokens child join family on child.parent_id = family.id
    )
    update api_tokens set revoked_at = now()
    where id in (select id from family) and revoked_at is null`.execute(transaction);
}
