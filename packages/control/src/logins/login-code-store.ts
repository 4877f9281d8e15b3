import { sql } from "kysely";
import type { Database } from "../db/database.ts";

export interface NewLoginCode {
  readonly code_sha256: Buffer;
  readonly token_id: string;
  readonly org_id: string;
}

/** When it ends. */
export async function insertLoginCode(db: Database, code: NewLoginCode, lifetimeS: number): Promise<Date> {
  const { rows } = await sql<{ expires_at: Date }>`
    insert into login_codes (code_sha256, token_id, org_id, expires_at)
    values (${code.code_sha256}, ${code.token_id}, ${code.org_id}, now() + ${lifetimeS} * interval '1 second')
    returning expires_at`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error("an insert returned no row");
  return row.expires_at;
}

export interface LoginCodeRow {
  /** Of the secret of the token that minted it. */
  readonly token_sha256: Buffer;
  readonly org_id: string;
  readonly is_late: boolean;
}

export async function findLoginCode(db: Database, codeSha256: Buffer): Promise<LoginCodeRow | undefined> {
  const { rows } = await sql<LoginCodeRow>`
    select t.secret_sha256 as token_sha256, c.org_id, c.expires_at <= now() as is_late
    from login_codes c join api_tokens t on t.id = c.token_id
    where c.code_sha256 = ${codeSha256}`.execute(db);
  return rows[0];
}

/** Two calls for one code delete one row, so one of them gets it. */
export async function takeLoginCode(db: Database, codeSha256: Buffer): Promise<LoginCodeRow | undefined> {
  const { rows } = await sql<LoginCodeRow>`
    delete from login_codes c using api_tokens t
    where c.code_sha256 = ${codeSha256} and t.id = c.token_id
    returning t.secret_sha256 as token_sha256, c.org_id, c.expires_at <= now() as is_late`.execute(db);
  return rows[0];
}

export async function sweepLoginCodes(db: Database, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from login_codes where code_sha256 in (
      select code_sha256 from login_codes where expires_at < now() limit ${limit}
    )`.execute(db);
  return Number(numAffectedRows ?? 0);
}
