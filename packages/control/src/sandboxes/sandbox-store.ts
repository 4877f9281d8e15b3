// Rows of sandboxes. A change of status names the version that the decision was about, and is refused when that is old.

import { sql, type RawBuilder, type Selectable } from "kysely";
import {
  canSandboxTransition,
  type SandboxMode,
  type SandboxStatus,
} from "@skerry/contract/sandboxes/sandbox-status";
import { auditEventFrom, type NewAuditEvent } from "../audit/insert-audit-events.ts";
import { moveStatusesUnderWay } from "@skerry/contract/moves/move-status";
import type { NextEvent } from "../db/tables/event-tables.ts";
import type { Database, Queries, Tables } from "../db/database.ts";
import { claimedAnew, isClaimed } from "../db/claims.ts";
import { withoutFailure } from "../db/host-failure.ts";
import { BatchLoader } from "../db/batch-loader.ts";
import type { NewVmRow } from "../vms/creation/new-vm-row.ts";
import { prepared } from "../db/prepared.ts";
import { erasedEnv } from "../vms/env.ts";
import type { Rollback } from "../db/tables/sandbox-tables.ts";
import { steadyNow } from "../db/steady-time.ts";
import { isWorkedOn } from "../vms/vm-claims.ts";
import { passes, type VmFilter } from "../vms/vm-filter.ts";
import { refuseTakenName } from "../vms/vm-names.ts";
import { storedSecrets } from "../vms/creation/vm-secrets.ts";

export type SandboxRow = Omit<Selectable<Tables["sandboxes"]>, "changed_seq">;

export interface NewSandbox extends NewVmRow {
  readonly mode: SandboxMode;
  readonly timeout_ms: number;
  readonly pause_after_idle_ms: number | null;
  readonly auto_resume: boolean;
  readonly snapshot_id?: string | null;
  readonly forked_by?: string;
}

/** All of a row; a type below tells where one is missing. */
const columns = [
  "id",
  "org_id",
  "name",
  "unique_name",
  "template",
  "mode",
  "size",
  "vcpus",
  "memory_mib",
  "disk_gib",
  "status",
  "version",
  "execution_id",
  "host_id",
  "env",
  "metadata",
  "egress",
  "egress_version",
  "egress_applied",
  "timeout_ms",
  "created_at",
  "started_at",
  "expires_at",
  "destroyed_at",
  "status_since",
  "reason",
  "claimed_until",
  "attempts",
  "retry_at",
  "host_lost",
  "paused_at",
  "public_ports",
  "snapshot_id",
  "forked_by",
  "pause_after_idle_ms",
  "auto_resume",
  "keeps_memory",
  "reboots",
  "port_options",
  "rollback",
  "next_event",
  "owner_kind",
  "owner_id",
  "owner_name",
  "secrets",
] as const satisfies readonly (keyof SandboxRow)[];
const columnsOf = (table: string) => sql.raw(columns.map((column) => `${table}.${column}`).join(", "));

export const sandboxTable = { noun: "sandbox", table: "sandboxes" } as const;

/** Throws `name_taken`. */
export async function insertSandbox(db: Queries, sandbox: NewSandbox): Promise<SandboxRow> {
  return db
    .insertInto("sandboxes")
    .values({
      ...sandbox,
      env: JSON.stringify(sandbox.env),
      secrets: storedSecrets(sandbox.secrets),
      metadata: JSON.stringify(sandbox.metadata),
      egress: JSON.stringify(sandbox.egress),
      status: "creating",
      expires_at: sql<Date>`now() + ${sandbox.timeout_ms} * interval '1 millisecond'`,
      claimed_until: claimedAnew,
    })
    .returning(columns)
    .modifyEnd(prepared)
    .executeTakeFirstOrThrow()
    .catch(refuseTakenName(sandboxTable, sandbox.name));
}

/** Until it expires, in milliseconds at the moment of the query: by the database's clock, which wrote `expires_at`, and not by a replica's own. */
export type FoundSandbox = SandboxRow & { readonly left_ms: number };

/** Undefined where it does not exist or is another organization's; the caller does not learn which. */
export function findSandbox(db: Database, orgId: string, id: string): Promise<FoundSandbox | undefined> {
  return batches.find(db, `${orgId} ${id}`);
}

/** Most reads of the API begin here, so those that come at the same time share a query. */
const batches = new BatchLoader<FoundSandbox>(async (db, keys) => {
  const wanted = keys.map((key) => key.split(" "));
  const { rows } = await sql<FoundSandbox>`
    select ${columnsOf("s")}, (extract(epoch from s.expires_at - ${steadyNow}) * 1000)::double precision as left_ms
    from unnest(${wanted.map(([orgId]) => orgId)}::text[], ${wanted.map(([, id]) => id)}::text[]) as wanted (org_id, id)
    join sandboxes s on s.id = wanted.id and s.org_id = wanted.org_id ${prepared}`.execute(db);
  return rows.map((row) => [`${row.org_id} ${row.id}`, row]);
});

/** Newest first unless the filter says otherwise. Ids sort by time, so a page never shifts when sandboxes are added. */
export function listSandboxes(db: Database, filter: VmFilter<SandboxStatus>): Promise<SandboxRow[]> {
  return db
    .selectFrom("sandboxes")
    .selectAll()
    .where(passes(filter))
    .orderBy("id", filter.order ?? "desc")
    .limit(filter.limit)
    .execute();
}

/**
 * Changes the status of exactly the incarnation that the caller saw; undefined when another writer got there first.
 * Each status brings the facts that belong to it: the start of a running sandbox, the end of a destroyed one. Where there is an event, it is
 * in the audit log if and only if the status changed.
 */
export async function transitionSandbox(
  db: Queries,
  seen: Pick<SandboxRow, "id" | "version" | "status">,
  to: SandboxStatus,
  {
    reason = null,
    event,
    egressVersion = 0,
    executionId,
    snapshotId,
    next,
    withoutMemory = false,
    rollback,
    isGivenUp,
  }: {
    readonly reason?: string | null;
    readonly event?: NewAuditEvent | undefined;
    /** Of the policy under which its microVM has started. */
    readonly egressVersion?: number;
    /** Of the life that has begun. */
    readonly executionId?: string;
    /** The snapshot that it has begun at. */
    readonly snapshotId?: string;
    /** What the end of the transition that begins is told as, or the end of this one where it fails. */
    readonly next?: NextEvent;
    /** Of a pause: it keeps the disk alone. */
    readonly withoutMemory?: boolean;
    /** Of a resume: it begins at a snapshot. */
    readonly rollback?: Rollback | undefined;
    /** The host has not carried out the destruction, and the reason says so. */
    readonly isGivenUp?: boolean;
  } = {},
): Promise<SandboxRow | undefined> {
  if (!canSandboxTransition(seen.status, to))
    throw new Error(`a sandbox cannot move from ${seen.status} to ${to}`);
  const moved = sql<SandboxRow>`
    update sandboxes set
      status = ${to},
      version = version + 1,
      reason = ${reasonIn(reason, isGivenUp)},
      claimed_until = ${isWorkedOn(to) ? claimedAnew : null},
      next_event = ${nextEvent(to, next)},
      rollback = ${rollbackIn(to, rollback)},
      -- What was tried in vain in the old status says nothing about the new one.
      attempts = 0,
      retry_at = now()
      ${factsOf[to]?.({ egressVersion, executionId, snapshotId, withoutMemory }) ?? sql``}
    where id = ${seen.id} and version = ${seen.version} and status = ${seen.status}
      ${to === "pausing" || to === "resuming" ? sql`and ${staysHere}` : sql``}
    returning ${columnsOf("sandboxes")}`;
  const statement =
    event === undefined
      ? moved
      : sql<SandboxRow>`
          with moved as (${moved}), event as (${auditEventFrom(sql`moved`, event)})
          select ${columnsOf("moved")} from moved`;
  const { rows } = await sql<SandboxRow>`${statement} ${prepared}`.execute(db);
  return rows[0];
}

/** Why it failed, or was lost, says more than that it was cleaned up afterwards. */
function reasonIn(reason: string | null, isGivenUp = false): RawBuilder<unknown> {
  const former = isGivenUp ? sql`reason` : withoutFailure;
  return sql`
    case when status in ('unreachable', 'failed', 'destroying') then coalesce(${former}, ${reason}) else ${reason} end`;
}

/** A transition that ends is told as it was begun, unless its writer knows better. */
function nextEvent(to: SandboxStatus, next: NextEvent | undefined): RawBuilder<unknown> {
  if (next !== undefined) return sql`${JSON.stringify(next)}::jsonb`;
  return isWorkedOn(to) ? sql`null` : sql`next_event`;
}

/** A host that falls silent may have given up what the sandbox was, so the row goes on to say what begins next. */
function rollbackIn(to: SandboxStatus, rollback: Rollback | undefined): RawBuilder<unknown> {
  if (rollback !== undefined) return sql`${JSON.stringify(rollback)}::jsonb`;
  return to === "unreachable" ? sql`rollback` : sql`null`;
}

interface Life {
  readonly egressVersion: number;
  readonly executionId: string | undefined;
  readonly snapshotId: string | undefined;
  readonly withoutMemory: boolean;
}

const factsOf: { readonly [Status in SandboxStatus]?: (life: Life) => RawBuilder<unknown> } = {
  // It never runs again, and a creation that is sent once more may want its name.
  failed: () => sql`, unique_name = null`,
  // The operator may have changed what its organization is granted since its host was told.
  running: ({ egressVersion, executionId, snapshotId }) => sql`, started_at = coalesce(started_at, now())
            , execution_id = coalesce(${executionId ?? null}, execution_id)
            , snapshot_id = coalesce(${snapshotId ?? null}, snapshot_id)
            , paused_at = null
            , reboots = false
            , egress_applied = ${egressVersion}::integer
            , expires_at = greatest(expires_at, now() + timeout_ms * interval '1 millisecond')`,
  pausing: ({ withoutMemory }) => sql`, reboots = ${withoutMemory}::boolean`,
  // One that could not be resumed has been paused all the time.
  paused: () => sql`, paused_at = coalesce(paused_at, now())`,
  destroying: () => sql`, env = ${erasedEnv}`,
  destroyed: () => sql`, destroyed_at = now()`,
};

/** No move has it on its way to another host. */
export const staysHere = sql<boolean>`not exists (
  select 1 from moves where vm_id = sandboxes.id and status in (${sql.join(moveStatusesUnderWay)})
)`;

/** Of a sandbox that its timeout has destroyed. */
export const EXPIRED_REASON = "timeout expired";

/** From these no keepalive saves a sandbox. */
export const statusesPastSaving: readonly SandboxStatus[] = ["failed", "destroying", "destroyed"];

/** It has no time that could end. */
export const statusesWithoutTime: readonly SandboxStatus[] = ["pausing", "paused"];

/**
 * Moves the expiry to a later time, never to an earlier one. Undefined where the sandbox is past saving, has expired, is paused or does not
 * exist. While a request is creating or resuming it, its expiry means nothing yet: its time begins when it runs. A persistent one whose time is over
 * runs until it is paused.
 */
export async function keepSandboxAlive(
  db: Database,
  params: { orgId: string; id: string; timeoutMs: number; maySooner?: boolean },
): Promise<SandboxRow | undefined> {
  const expiresAt = sql`now() + ${params.timeoutMs} * interval '1 millisecond'`;
  const { rows } = await sql<SandboxRow>`
    update sandboxes set expires_at = ${params.maySooner === true ? expiresAt : sql`greatest(expires_at, ${expiresAt})`}
    where id = ${params.id} and org_id = ${params.orgId} and status not in (${sql.join([...statusesPastSaving, ...statusesWithoutTime])})
      and (expires_at > ${steadyNow} or ${isClaimed()} or mode = 'persistent' and status = 'running')
    returning *`.execute(db);
  return rows[0];
}
