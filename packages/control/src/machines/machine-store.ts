// Rows of machines. A change of status names the version that the decision was about, and is refused when that is old.

import { sql, type Selectable, type UpdateObject } from "kysely";
import {
  canMachineTransition,
  type MachineStatus,
  type RestartDisk,
  type RestartPolicy,
} from "@skerry/contract/machines/machine-status";
import type { Size } from "@skerry/contract/sizes";
import type { NextEvent } from "../db/tables/event-tables.ts";
import type { StoredCheck } from "../db/tables/machine-tables.ts";
import type { Database, Queries, Tables } from "../db/database.ts";
import { steadyNow } from "../db/steady-time.ts";
import { claimedAnew } from "../db/claims.ts";
import { withoutFailure } from "../db/host-failure.ts";
import { BatchLoader } from "../db/batch-loader.ts";
import type { StoredWait } from "../db/tables/stored-wait.ts";
import type { NewVmRow } from "../vms/creation/new-vm-row.ts";
import { erasedEnv } from "../vms/env.ts";
import { readSize } from "../values/sizes.ts";
import { isWorkedOn } from "../vms/vm-claims.ts";
import { passes, type VmFilter } from "../vms/vm-filter.ts";
import { refuseTakenName } from "../vms/vm-names.ts";
import { storedSecrets } from "../vms/creation/vm-secrets.ts";

export interface MachineRow extends Selectable<Tables["machines"]> {
  /** When the queue has it start again. */
  readonly restart_at: Date | null;
  /** Why that start was refused when it was tried last. */
  readonly restart_waits: StoredWait | null;
}

export interface NewMachine extends NewVmRow {
  readonly command: string | null;
  readonly stop_timeout_ms: number;
  readonly health_check: StoredCheck | null;
  readonly stop_after_idle_ms: number | null;
  readonly autostart: boolean;
  readonly restart_policy: RestartPolicy;
  readonly restart_max_retries: number | null;
  readonly restart_disk: RestartDisk;
  readonly snapshot_id: string | null;
  /** The internal snapshot of the fork that makes it. */
  readonly forked_by?: string;
}

export const restartAt = sql<Date | null>`(select r.due_at from restarts r where r.machine_id = machines.id)`;
export const restartWaits = sql<StoredWait | null>`(select r.waits_for from restarts r where r.machine_id = machines.id)`;
const now = sql<Date>`now()`;

export const machineTable = { noun: "machine", table: "machines" } as const;

/** Throws `name_taken`. */
export function insertMachine(db: Queries, machine: NewMachine): Promise<MachineRow> {
  return db
    .insertInto("machines")
    .values({
      ...machine,
      env: JSON.stringify(machine.env),
      secrets: storedSecrets(machine.secrets),
      metadata: JSON.stringify(machine.metadata),
      egress: JSON.stringify(machine.egress),
      health_check: jsonOf(machine.health_check),
      check_version: machine.health_check === null ? 0 : 1,
      status: "creating",
      claimed_until: claimedAnew,
    })
    .returningAll()
    .returning(sql<Date | null>`null::timestamptz`.as("restart_at"))
    .returning(sql<StoredWait | null>`null::jsonb`.as("restart_waits"))
    .executeTakeFirstOrThrow()
    .catch(refuseTakenName(machineTable, machine.name));
}

/** Undefined where it does not exist or is another organization's; the caller does not learn which. */
export function findMachine(db: Database, orgId: string, id: string): Promise<MachineRow | undefined> {
  return batches.find(db, `${orgId} ${id}`);
}

const batches = new BatchLoader<MachineRow>(async (db, keys) => {
  const wanted = keys.map((key) => key.split(" "));
  const { rows } = await sql<MachineRow>`
    select machines.*, ${restartAt} as restart_at, ${restartWaits} as restart_waits
    from unnest(${wanted.map(([orgId]) => orgId)}::text[], ${wanted.map(([, id]) => id)}::text[]) as wanted (org_id, id)
    join machines on machines.id = wanted.id and machines.org_id = wanted.org_id`.execute(db);
  return rows.map((row) => [`${row.org_id} ${row.id}`, row]);
});

/** For work that is done for no organization. */
export function machineById(db: Queries, id: string): Promise<MachineRow | undefined> {
  return db
    .selectFrom("machines")
    .selectAll()
    .select(restartAt.as("restart_at"))
    .select(restartWaits.as("restart_waits"))
    .where("id", "=", id)
    .executeTakeFirst();
}

/** Whether this incarnation runs, is one that calls start, and was started so short a time ago. */
export async function hasBegunWithin(
  db: Database,
  { orgId, id, execution_id, ms }: Pick<MachineRow, "id" | "execution_id"> & { orgId: string; ms: number },
): Promise<boolean> {
  const { rows } = await sql`
    select from machines
    where id = ${id} and org_id = ${orgId} and execution_id = ${execution_id} and status = 'running' and autostart
      and started_at > ${steadyNow} - ${ms} * interval '1 millisecond'`.execute(db);
  return rows.length > 0;
}

/** Newest first. Ids sort by time, so a page never shifts when machines are added. */
export function listMachines(db: Database, filter: VmFilter<MachineStatus>): Promise<MachineRow[]> {
  return db
    .selectFrom("machines")
    .selectAll()
    .select(restartAt.as("restart_at"))
    .select(restartWaits.as("restart_waits"))
    .where(passes(filter))
    .orderBy("id", "desc")
    .limit(filter.limit)
    .execute();
}

type Values = UpdateObject<Tables, "machines">;

/** What a change brings beside the status: values, and expressions of the database. */
export type MachineChange = Pick<
  Values,
  | "reason"
  | "desired"
  | "restart_wished"
  | "stopped_idle"
  | "execution_id"
  | "host_id"
  | "disk_gib"
  | "size"
  | "vcpus"
  | "memory_mib"
  | "command"
  | "env"
  | "pending"
  | "exit_code"
  | "restarts"
  | "retries"
  | "host_lost"
  | "started_at"
  | "stopped_at"
  | "egress_applied"
  | "snapshot_id"
  | "rollback_to"
  | "next_event"
>;

type Seen = Pick<MachineRow, "id" | "version" | "status">;

/** Changes the status of exactly the version that the caller saw; undefined when another writer got there first. */
export async function transitionMachine(
  db: Queries,
  seen: Seen,
  to: MachineStatus,
  change: MachineChange = {},
): Promise<MachineRow | undefined> {
  if (!canMachineTransition(seen.status, to))
    throw new Error(`a machine cannot move from ${seen.status} to ${to}`);
  return write(db, seen, {
    status: to,
    version: sql`version + 1`,
    claimed_until: isWorkedOn(to) ? claimedAnew : null,
    // What was tried in vain in the old status says nothing about the new one.
    attempts: 0,
    retry_at: now,
    // A start that ends is told as it was begun.
    ...(to === "running" ? {} : { next_event: null }),
    ...(to === "running" || to === "starting" ? { stopped_idle: false } : {}),
    ...(to === "failed" ? { unique_name: nameOfUsable } : {}),
    ...(to === "destroying" ? { env: erasedEnv } : {}),
    ...(to === "destroyed" ? { destroyed_at: now, reason: withoutFailure } : {}),
    ...change,
  });
}

/**
 * The same without a change of status: the desired state, or why it waits. It leaves the version alone, because the replica that works on the
 * machine goes on, and reads the desired state when it is done, unless the caller says otherwise.
 */
export async function changeMachine(
  db: Queries,
  seen: Seen,
  change: MachineChange & Pick<Values, "version">,
): Promise<MachineRow | undefined> {
  return write(db, seen, change);
}

/**
 * Columns of a start that takes over the pending values. A change since the row was read waits for the next
 * start.
 */
export function takenOver({ pending }: Pick<MachineRow, "pending">): MachineChange & { size?: string } {
  if (pending === null) return {};
  const { size, command, env } = pending;
  return {
    ...(size === undefined ? {} : columnsOf(readSize(size))),
    ...(command === undefined ? {} : { command }),
    ...(env === undefined ? {} : { env: JSON.stringify(env) }),
    pending: sql<string | null>`nullif(pending, ${JSON.stringify(pending)}::jsonb)`,
  };
}

export function jsonOf(value: object | null): string | null {
  return value === null ? null : JSON.stringify(value);
}

function columnsOf({ name, vcpus, memory_mib }: Size) {
  return { size: name, vcpus, memory_mib };
}

function write(db: Queries, { id, version, status }: Seen, values: Values): Promise<MachineRow | undefined> {
  return db
    .updateTable("machines")
    .set(values)
    .where("id", "=", id)
    .where("version", "=", version)
    .where("status", "=", status)
    .returningAll()
    .returning(restartAt.as("restart_at"))
    .returning(restartWaits.as("restart_waits"))
    .executeTakeFirst();
}

/** One that never ran gives its name up: a creation that is sent once more may want it. */
const nameOfUsable = sql<string | null>`case when started_at is not null then unique_name end`;

/** A new life. */
export const begun = {
  started_at: now,
  restart_wished: false,
  host_lost: false,
  rollback_to: null,
} satisfies MachineChange;

/** Of a start at a snapshot in the place of the machine's own disk. */
export const toldAsRollback = (snapshotId: string) =>
  ({
    next_event: JSON.stringify({
      kind: "rolled_back",
      reason: `to snapshot ${snapshotId}`,
    } satisfies NextEvent),
  }) satisfies MachineChange;

/** Of a start whose replica has died: the snapshot that it began at, where it was a rollback. */
export const rolledBack = {
  snapshot_id: sql<string | null>`
    case when next_event ->> 'kind' = 'rolled_back' then coalesce(rollback_to, snapshot_id) else snapshot_id end`,
} satisfies MachineChange;

/** Of a start that follows a stop or an end without a new request for it. */
export const toldAsRestart = {
  next_event: JSON.stringify({ kind: "restarted" } satisfies NextEvent),
} satisfies MachineChange;

export const restartedAgain = { restarts: sql<number>`restarts + 1` } satisfies MachineChange;

/** Who has read it before decides anew. */
export const renewed = { version: sql<number>`version + 1` };

/** It no longer runs. */
export const atRest = { stopped_at: now } satisfies MachineChange;
