// Rows of hosts that join, and the certificates that they were brought.

import { sql } from "kysely";
import type { Queries } from "../db/database.ts";

export interface JoiningHost {
  readonly id: string;
  readonly name: string;
  readonly address: string;
}

const UNIQUE_VIOLATION = "23505";

/** The host with this key, if there is one. */
export async function findHostByKey(db: Queries, keySha256: Buffer): Promise<string | undefined> {
  const row = await db
    .selectFrom("hosts")
    .select("id")
    .where("key_sha256", "=", keySha256)
    .where("removed_at", "is", null)
    .executeTakeFirst();
  return row?.id;
}

/**
 * Writes a host that was not asked yet, or changes name and address of one that comes again. False where another
 * has the name; then nothing else can be done in the transaction.
 */
export async function writeJoiningHost(db: Queries, host: JoiningHost): Promise<boolean> {
  // One that has never answered holds no name: its join broke off.
  await sql`
    update hosts set removed_at = now(), name = name || '~' || id
    where name = ${host.name} and id <> ${host.id} and joined and cpus = 0 and removed_at is null`.execute(
    db,
  );
  try {
    await sql`
      insert into hosts (id, name, address, status, cpus, memory_mib, templates, facts, last_heartbeat, joined)
      values (${host.id}, ${host.name}, ${host.address}, 'offline', 0, 0, '[]', '{}', now(), true)
      on conflict (id) do update set name = excluded.name, address = excluded.address`.execute(db);
    return true;
  } catch (error) {
    if ((error as { code?: unknown }).code === UNIQUE_VIOLATION) return false;
    throw error;
  }
}

export function findJoinedHost(db: Queries, id: string): Promise<JoiningHost | undefined> {
  return db
    .selectFrom("hosts")
    .select(["id", "name", "address"])
    .where("id", "=", id)
    .where("removed_at", "is", null)
    .executeTakeFirst();
}

export interface BroughtCertificate {
  /** Number of the authority that it is of. */
  readonly certifiedBy: number;
  /** Numbers of the authorities that the host believes. */
  readonly trusts: readonly number[];
  readonly keySha256: Buffer;
  readonly lifetimeMs: number;
}

export async function recordHostCertificate(
  db: Queries,
  id: string,
  { keySha256, lifetimeMs, certifiedBy, trusts }: BroughtCertificate,
): Promise<void> {
  await sql`
    update hosts set
      key_sha256 = ${keySha256}, certified_by = ${certifiedBy}, trusts = ${trusts}::integer[],
      certificate_expires_at = now() + ${lifetimeMs}::double precision * interval '1 millisecond'
    where id = ${id}`.execute(db);
}
