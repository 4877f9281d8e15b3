import { sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import { daysAgo } from "../db/steady-time.ts";

export interface NewJoinToken {
  readonly id: string;
  readonly sealed_digest: Buffer;
  readonly org_id: string;
  readonly created_by: string;
  /** Its number. */
  readonly authority: number;
}

/** When it ends. */
export async function insertJoinToken(db: Queries, token: NewJoinToken, lifetimeMs: number): Promise<Date> {
  const { rows } = await sql<{ expires_at: Date }>`
    insert into join_tokens (id, sealed_digest, org_id, created_by, authority, expires_at)
    values (${token.id}, ${token.sealed_digest}, ${token.org_id}, ${token.created_by}, ${token.authority},
            now() + ${lifetimeMs}::double precision * interval '1 millisecond')
    returning expires_at`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error("an insert returned no row");
  return row.expires_at;
}

export interface JoinTokenRow {
  readonly sealed_digest: Buffer;
  readonly org_id: string;
  readonly host_id: string | null;
  /** Null: the token is from before authorities had numbers. */
  readonly authority: number | null;
  readonly expired: boolean;
}

/** No other request uses the token until the transaction ends. Tokens of versions that stored the digest in the clear are not found. */
export async function lockJoinToken(db: Queries, id: string): Promise<JoinTokenRow | undefined> {
  const { rows } = await sql<JoinTokenRow>`
    select sealed_digest, org_id, host_id, authority, expires_at <= now() as expired
    from join_tokens where id = ${id} and sealed_digest is not null for update`.execute(db);
  return rows[0];
}

export async function useJoinToken(db: Queries, id: string, hostId: string): Promise<void> {
  await db.updateTable("join_tokens").set({ host_id: hostId }).where("id", "=", id).execute();
}

/** Tokens that have been no use for a day. */
export async function sweepJoinTokens(db: Database, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from join_tokens where id in (
      select id from join_tokens where expires_at < ${daysAgo(1)} limit ${limit}
    )`.execute(db);
  return Number(numAffectedRows ?? 0);
}
