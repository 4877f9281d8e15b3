// Rows that become what their hosts have.

import { sql } from "kysely";
import type { Queries } from "../db/database.ts";
import { isLost } from "./sandbox-facts.ts";
import type { SandboxRow } from "./sandbox-store.ts";

/** The whole row, where it is still this version of it. */
export function findSandboxVersion(
  db: Queries,
  { id, version }: Pick<SandboxRow, "id" | "version">,
): Promise<SandboxRow | undefined> {
  return db
    .selectFrom("sandboxes")
    .selectAll()
    .where("id", "=", id)
    .where("version", "=", version)
    .executeTakeFirst();
}

/**
 * The row as its host has the sandbox: the host has come back with it, or the replica died that was pausing
 * or resuming it. One that was resumed has a new time, and gets the policy of its row once more. Undefined
 * where another writer was first, or its time is over.
 */
export async function adoptSandbox(
  db: Queries,
  { id, version }: Pick<SandboxRow, "id" | "version">,
  found: { readonly status: "running" | "paused"; readonly execution_id: string },
): Promise<SandboxRow | undefined> {
  const hasGoneBack = sql`coalesce(rollback ->> 'execution_id' = ${found.execution_id}, false)`;
  const wasResumed = sql`${found.status} = 'running' and (paused_at is not null or ${hasGoneBack})`;
  const { rows } = await sql<SandboxRow>`
    update sandboxes set
      status = ${found.status}, execution_id = ${found.execution_id}, version = version + 1,
      host_lost = false, reason = null, claimed_until = null, attempts = 0, retry_at = now(),
      expires_at = case when ${wasResumed}
        then greatest(expires_at, now() + timeout_ms * interval '1 millisecond') else expires_at end,
      egress_applied = case when ${wasResumed} then 0 else egress_applied end,
      snapshot_id = case when ${hasGoneBack} then rollback ->> 'snapshot_id' else snapshot_id end,
      rollback = null,
      paused_at = case when ${found.status} = 'paused' then coalesce(paused_at, now()) end
    where id = ${id} and version = ${version}
      and (${isLost} or status in ('running', 'pausing', 'paused', 'resuming'))
    returning *`.execute(db);
  return rows[0];
}
