// What the background services ask about sandboxes of all organizations.

import { sql, type Selectable } from "kysely";
import { sandboxStatuses, canSandboxTransition } from "@skerry/contract/sandboxes/sandbox-status";
import type { Database, Queries, Tables } from "../db/database.ts";
import { isClaimed } from "../db/claims.ts";
import { erasedEnv } from "../vms/env.ts";
import { isPostponed } from "../vms/postpone.ts";
import { EXPIRED_REASON, type SandboxRow } from "./sandbox-store.ts";

type Row = Selectable<Tables["sandboxes"]>;

/** A sandbox as its host's list of VMs is compared with it. */
export interface SandboxFact extends Pick<Row, "id" | "status" | "version" | "execution_id" | "host_id"> {
  /** A request is creating it at this moment. */
  readonly claimed: boolean;
  /** The host has not confirmed the stored egress policy. */
  readonly egress_due: boolean;
  /** What failed is not due for its next attempt yet. */
  readonly waiting: boolean;
  /** Its host was taken for dead, and its time is not over. */
  readonly lost: boolean;
  /** How long until its claim lapses or its next attempt is due. */
  readonly due_in_ms: number | null;
}

const FACTS = sql`
  id, status, version, execution_id, host_id,
  ${isClaimed()} as claimed, egress_applied <> egress_version as egress_due,
  ${isPostponed} as waiting,
  (status = 'unreachable' or status = 'failed' and host_lost) and expires_at > now() as lost,
  ceil(extract(epoch from case
    when status = 'creating' and ${isClaimed()} then claimed_until
    when ${isPostponed} and (status = 'destroying' or status = 'running' and egress_applied <> egress_version) then retry_at
  end - now()) * 1000)::double precision as due_in_ms`;

/** Bound of one comparison. A host with more sandboxes than this would need another design first. */
const FACTS_MAX = 20_000;

/** Every sandbox that should have a VM on this host, or that should lose it. */
export async function sandboxesOnHost(db: Database, hostId: string): Promise<SandboxFact[]> {
  const { rows } = await sql<SandboxFact>`
    select ${FACTS} from sandboxes
    where host_id = ${hostId} and status in ('creating', 'running', 'unreachable', 'destroying')
    order by retry_at limit ${FACTS_MAX}`.execute(db);
  return rows;
}

export async function sandboxFacts(db: Database, ids: readonly string[]): Promise<SandboxFact[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<SandboxFact>`
    select ${FACTS} from sandboxes where id = any(${ids}::text[])`.execute(db);
  return rows;
}

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
      where expires_at < now() and status in (${sql.join(expirable)})
        and not ${isClaimed()}
      order by expires_at limit ${limit} for update skip locked
    )
    returning *`.execute(db);
  return rows;
}

/** Statuses in which the end of its time destroys a sandbox. */
export const expirable = sandboxStatuses.filter((status) => canSandboxTransition(status, "destroying"));

/** Its host has come back with it, so it has not failed after all. Undefined where another writer was first, or its time is over. */
export async function adoptSandbox(
  db: Queries,
  { id, version }: Pick<Row, "id" | "version">,
): Promise<SandboxRow | undefined> {
  const { rows } = await sql<SandboxRow>`
    update sandboxes set status = 'running', version = version + 1, host_lost = false, reason = null, attempts = 0, retry_at = now()
    where id = ${id} and version = ${version} and (status = 'unreachable' or status = 'failed' and host_lost)
      and expires_at > now()
    returning *`.execute(db);
  return rows[0];
}
