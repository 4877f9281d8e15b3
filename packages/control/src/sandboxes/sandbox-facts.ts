// What the background services ask about sandboxes of all organizations.

import { sql, type Selectable } from "kysely";
import type { Database, Tables } from "../db/database.ts";
import { isClaimed } from "../db/claims.ts";
import { steadyNow } from "../db/steady-time.ts";
import { isPostponed } from "../vms/postpone.ts";

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

/** Its host was taken for dead, and its time is not over, or is not its end. */
export const isLost = sql<boolean>`(
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

/** The end of its time destroys it: a persistent one is paused, or is not understood to have ended. */
export const isExpired = sql<boolean>`(
  expires_at < ${steadyNow} and status in ('creating', 'running', 'unreachable', 'failed')
  and (mode = 'ephemeral' or status in ('creating', 'failed'))
)`;
