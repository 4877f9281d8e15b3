import { sql, type Selectable } from "kysely";
import type { Role, Scope } from "@skerry/contract/access";
import type { Database, Queries, Tables } from "./database.ts";

export type TokenRow = Omit<Selectable<Tables["api_tokens"]>, "secret_sha256" | "parent_id">;

export interface NewToken {
  readonly id: string;
  readonly org_id: string;
  readonly user_id: string;
  readonly name: string;
  readonly secret_sha256: Buffer;
  /** The token that mints it; null where none does. */
  readonly parent_id: string | null;
  readonly scopes: readonly Scope[];
  /** Works in its own organization only. */
  readonly bound: boolean;
  /** Null: as long as its parent, and without a parent until revoked. */
  readonly lifetimeMs: number | null;
}

/** Who a token speaks for. `membership` is null where that is nobody in the organization that was asked for. */
export interface Bearer {
  readonly token_id: string;
  readonly user_id: string;
  readonly scopes: readonly Scope[];
  readonly bound: boolean;
  readonly membership: { readonly org_id: string; readonly role: Role; readonly operator: boolean } | null;
}

/** `last_used_at` is exact to this many seconds: a write per request would cost more than the figure is worth. */
const LAST_USED_RESOLUTION_S = 60;

const columns = [
  "id",
  "org_id",
  "user_id",
  "name",
  "scopes",
  "bound",
  "created_at",
  "expires_at",
  "last_used_at",
  "revoked_at",
] as const;

export async function insertToken(db: Queries, token: NewToken): Promise<TokenRow> {
  const { lifetimeMs, ...values } = token;
  return db
    .insertInto("api_tokens")
    .values({
      ...values,
      expires_at: sql<Date>`coalesce(
        now() + ${lifetimeMs}::double precision * interval '1 millisecond',
        (select parent.expires_at from api_tokens parent where parent.id = ${token.parent_id})
      )`,
    })
    .returning(columns)
    .executeTakeFirstOrThrow();
}

export interface Parent {
  /** Null: valid until revoked. */
  readonly expires_at: Date | null;
  /** Whether a child that lives for the given time would outlive it. */
  readonly outlived: boolean;
  readonly scopes: readonly Scope[];
  readonly bound: boolean;
}

/**
 * A token that is about to mint another one, and whether it ends before `lifetimeMs` is over. Until this transaction ends nobody
 * can revoke it, so that no child slips in behind a revocation. Undefined where it is not valid any more.
 */
export async function holdParent(
  transaction: Queries,
  caller: { readonly tokenId: string; readonly userId: string },
  lifetimeMs: number | null,
): Promise<Parent | undefined> {
  // A statement of its own: the next one must see what was revoked while this one waited.
  await sql`select 1 from users where id = ${caller.userId} for share`.execute(transaction);
  const { rows } = await sql<Parent>`
    select expires_at, scopes, bound,
      coalesce(expires_at < now() + ${lifetimeMs}::double precision * interval '1 millisecond', false) as outlived
    from api_tokens
    where id = ${caller.tokenId} and revoked_at is null and (expires_at is null or expires_at > now())`.execute(
    transaction,
  );
  return rows[0];
}

/** Undefined for a token that is unknown, expired or revoked. Asked on every request, so a revocation works at once. */
export async function findBearer(
  db: Database,
  secretSha256: Buffer,
  orgId: string | undefined,
): Promise<Bearer | undefined> {
  const { rows } = await sql<
    Omit<Bearer, "membership"> & NonNullable<Bearer["membership"]> & { stale: boolean }
  >`
    select t.id as token_id, t.user_id, t.scopes, t.bound, m.org_id, m.role, o.operator,
      t.last_used_at is null or t.last_used_at < now() - ${LAST_USED_RESOLUTION_S} * interval '1 second' as stale
    from api_tokens t
    left join memberships m on m.user_id = t.user_id and m.org_id = coalesce(${orgId ?? null}, t.org_id)
      and (m.org_id = t.org_id or not t.bound)
    left join organizations o on o.id = m.org_id
    where t.secret_sha256 = ${secretSha256} and t.revoked_at is null
      and (t.expires_at is null or t.expires_at > now())`.execute(db);
  const [row] = rows;
  if (row === undefined) return undefined;
  const { stale, org_id, role, operator, ...bearer } = row;
  if (stale) await sql`update api_tokens set last_used_at = now() where id = ${row.token_id}`.execute(db);
  return { ...bearer, membership: org_id === null ? null : { org_id, role, operator } };
}

/** Newest first; tokens that are revoked are not shown. */
export function listTokens(
  db: Database,
  page: { orgId: string; before: string | undefined; limit: number },
): Promise<TokenRow[]> {
  let query = db
    .selectFrom("api_tokens")
    .select(columns)
    .where("org_id", "=", page.orgId)
    .where("revoked_at", "is", null)
    .orderBy("id", "desc")
    .limit(page.limit);
  if (page.before !== undefined) query = query.where("id", "<", page.before);
  return query.execute();
}

/**
 * Revokes a token and all that came from it, in whatever organizations those are. False where the organization never had such a
 * token. Revoking twice is no error and keeps the first time.
 */
export async function revokeToken(db: Database, orgId: string, id: string): Promise<boolean> {
  return db.transaction().execute(async (transaction) => {
    // All tokens of a family are one user's; `holdParent` holds the same row while it mints.
    const { rows } = await sql`
      select 1 from users u join api_tokens t on t.user_id = u.id
      where t.id = ${id} and t.org_id = ${orgId}
      for no key update of u`.execute(transaction);
    if (rows.length === 0) return false;
    await sql`
      with recursive family as (
        select id from api_tokens where id = ${id}
        union
        select child.id from api_tokens child join family on child.parent_id = family.id
      )
      update api_tokens set revoked_at = now()
      where id in (select id from family) and revoked_at is null`.execute(transaction);
    return true;
  });
}
