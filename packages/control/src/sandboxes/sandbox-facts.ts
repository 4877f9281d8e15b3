// What the background services ask about sandboxes of all organizations.

import { sql, type Selectable } from "kysely";
import type { Database, Queries, Tables } from "../db/database.ts";
import { isClaimed } from "../db/claims.ts";
import { steadyNow } from "../db/steady-time.ts";
import { erasedEnv } from "../vms/env.ts";
import { isPostponed } from "../vms/postpone.ts";
import { EXPIRED_REASON, type SandboxRow } from "./sandbox-store.ts";

type Row = Selectable<Tables["sandboxes"]>;

/** A sandbox as its host's list of VMs is compared with it. */
export interface SandboxFact extends Pick<
  Row,
  "id" | "status" | "version" | "execution_id" | "host_id" | "reboots" | "attempts" | "rollback"
> {
  /** A replica is creating, pausing or resuming it at this moment. */
  readonly claimed: boolean;
  /** The host has not confirmed the stored egress policy. */
  readonly egress_due: boolean;
  /** What failed is not due for its next attempt yet. */
  readonly waiting: boolean;
  /** Its host was taken for dead, and its time is not over, or is not its end. */
  readonly lost: boolean;
  /** It is paused, or was when it was last heard of. */
  readonly was_paused: boolean;
  /** How long until its claim lapses or its next attempt is due. */
  readonly due_in_ms: number | null;
}

const isLost = sql<boolean>`(
  (status = 'unreachable' or status = 'failed' and host_lost) and (expires_at > ${steadyNow} or mode = 'persistent')
)`;

const FACTS = sql`
  id, status, version, execution_id, host_id, reboots, attempts, rollback,
  ${isClaimed()} as claimed, egress_applied <> egress_version as egress_due,
  ${isPostponed} as waiting,
  ${isLost} as lost, paused_at is not null as was_paused,
  ceil(extract(epoch from case
    when status in ('creating', 'pausing', 'resuming') and ${isClaimed()} then claimed_until
    when ${isPostponed} and (status in ('destroying', 'pausing', 'resuming') or rollback is not null or status = 'running' and egress_applied <> egress_version) then retry_at
  end - ${steadyNow}) * 1000)::double precision as due_in_ms`;

/** Bound of one comparison. A host with more sandboxes than this would need another design first. */
const FACTS_MAX = 20_000;

/** Every sandbox that should have a VM on this host, or that should lose it. */
export async function sandboxesOnHost(db: Database, hostId: string): Promise<SandboxFact[]> {
  const { rows } = await sql<SandboxFact>`
    select ${FACTS} from sandboxes
    where host_id = ${hostId} and status in ('creating', 'running', 'pausing', 'paused', 'resuming', 'unreachable', 'destroying')
    order by retry_at limit ${FACTS_MAX}`.execute(db);
  return rows;
}

export async function sandboxFacts(db: Database, ids: readonly string[]): Promise<SandboxFact[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<SandboxFact>`
    select ${FACTS} from sandboxes where id = any(${ids}::text[])`.execute(db);
  return rows;
}

/** The whole row, where it is still this version of it. */
export function findSandboxVersion(
  db: Queries,
  { id, version }: Pick<Row, "id" | "version">,
): Promise<SandboxRow | undefined> {
  return db
    .selectFrom("sandboxes")
    .selectAll()
    .where("id", "=", id)
    .where("version", "=", version)
    .executeTakeFirst();
}

/** The end of its time destroys it: a persistent one is paused, or is not understood to have ended. */
export const isExpired = sql<boolean>`(
  expires_at < ${steadyNow} and status in ('creating', 'running', 'unreachable', 'failed')
  and (mode = 'ephemeral' or status in ('creating', 'failed'))
)`;

/**
 * Moves up to `limit` sandboxes past their expiry to `destroying`, in one statement, and returns them. A sandbox that a request
 * is still creating is left alone: its time begins when it runs.
 */
export async function expireSandboxes(db: Queries, limit: number): Promise<SandboxRow[]> {
  const { rows } = await sql<SandboxRow>`
    update sandboxes set
      status = 'destroying', env = ${erasedEnv}, version = version + 1, claimed_until = null, attempts = 0, retry_at = now(),
      reason = coalesce(reason, ${EXPIRED_REASON})
    where id in (
      select id from sandboxes
      where ${isExpired} and not ${isClaimed()}
      order by expires_at limit ${limit} for update skip locked
    )
    returning *`.execute(db);
  return rows;
}

/** Until the next sandbox that runs is past its expiry, in milliseconds; undefined where that is not before so much time has passed. */
export async function nextExpiryInMs(db: Queries, withinMs: number): Promise<number | undefined> {
  const { rows } = await sql<{ ms: number }>`
    select ceil(extract(epoch from expires_at - now()) * 1000)::double precision as ms from sandboxes
    where expires_at > ${steadyNow} and expires_at < now() + ${withinMs} * interval '1 millisecond' and status = 'running'
    order by expires_at limit 1`.execute(db);
  return rows[0]?.ms;
}

/**
 * The row as its host has the sandbox: the host has come back with it, or the replica died that was pausing or resuming it. One that was
 * resumed has a new time, and gets the policy of its row once more. Undefined where another writer was first, or its time is over.
 */
export async function adoptSandbox(
  db: Queries,
  { id, version }: Pick<Row, "id" | "version">,
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
