// Machines, and when they are started again.

import type { StoredWait } from "./stored-wait.ts";
import type { ColumnType, Generated } from "kysely";
import type { MachineEndCause } from "@skerry/contract/machines/machine-end";
import type { HealthStatus } from "@skerry/contract/checks/check-bounds";
import type { Egress } from "@skerry/contract/vms/egress";
import type {
  MachineStatus,
  MachineDesired,
  RestartDisk,
  RestartPolicy,
} from "@skerry/contract/machines/machine-status";
import type { NextEvent } from "./event-tables.ts";
import type { Json, SetTime, Time } from "./columns.ts";

/** Values that a machine takes over at its next start, as far as they differ from those in effect. */
export interface PendingValues {
  readonly size?: string;
  readonly command?: string | null;
  /** The whole environment. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A health check as it is kept, every default filled in. */
export interface StoredCheck {
  readonly http?: { readonly path: string; readonly port: number };
  readonly command?: string;
  readonly interval_ms: number;
  readonly timeout_ms: number;
  readonly failures: number;
  readonly grace_ms: number;
  /** Stop the machine when it fails, and start it again by its policy. */
  readonly restart: boolean;
}

/** State that the host told last of this check in this incarnation. */
export interface StoredHealth {
  readonly execution_id: string;
  readonly version: number;
  readonly status: HealthStatus;
  readonly since: string;
  readonly reason: string | null;
  readonly last_checked_at: string | null;
}

export interface MachineTables {
  machines: {
    id: string;
    org_id: string;
    name: string | null;
    /** The name, while it finds this row; null where only the id does. */
    unique_name: string | null;
    template: string;
    size: string;
    vcpus: number;
    memory_mib: number;
    disk_gib: number;
    status: MachineStatus;
    status_since: Generated<Date>;
    desired: Generated<MachineDesired>;
    restart_wished: Generated<boolean>;
    version: Generated<number>;
    /** Another one with each change of what is shown; see db/migrations/0027-changes.ts. */
    changed_seq: Generated<string>;
    execution_id: string;
    host_id: string;
    /** Null: erased, because its destruction has begun. */
    env: Json<Record<string, string | null>>;
    metadata: Json<Record<string, string>>;
    egress: Json<Egress>;
    egress_version: Generated<number>;
    egress_applied: Generated<number>;
    command: string | null;
    /** Null: nothing waits for a start. */
    pending: ColumnType<PendingValues | null, string | null | undefined, string | null>;
    stop_timeout_ms: number;
    /** Null: it is not stopped by itself. */
    stop_after_idle_ms: ColumnType<number | null, number | null | undefined, number | null>;
    /** A call into it starts it where it was stopped by itself. */
    autostart: Generated<boolean>;
    /** It was stopped, or is about to be, because nothing used it. */
    stopped_idle: Generated<boolean>;
    /** Null: none. */
    health_check: ColumnType<StoredCheck | null, string | null | undefined, string | null>;
    /** Counts the changes of the check. */
    check_version: Generated<number>;
    /** Null: its host has not told of any check. */
    health: ColumnType<StoredHealth | null, never, string | null>;
    restart_policy: RestartPolicy;
    restart_max_retries: number | null;
    restart_disk: Generated<RestartDisk>;
    restarts: Generated<number>;
    retries: Generated<number>;
    exit_code: number | null;
    host_lost: Generated<boolean>;
    /** Ports that need no token. */
    public_ports: Generated<number[]>;
    /** The snapshot that it comes from, or that was taken of it last. */
    snapshot_id: string | null;
    /** The snapshot that it begins at where its host does not have its own disk any more. Null unless a rollback is under way. */
    rollback_to: string | null;
    /** The internal snapshot of the fork that made it. */
    forked_by: string | null;
    created_at: Generated<Date>;
    started_at: SetTime;
    stopped_at: SetTime;
    destroyed_at: SetTime;
    reason: string | null;
    claimed_until: ColumnType<Date | null, Date | null, Date | null>;
    attempts: Generated<number>;
    retry_at: Generated<Date>;
    /** What the end of the transition that is under way will be told as. */
    next_event: ColumnType<NextEvent | null, string | null | undefined, string | null>;
  };
  restarts: {
    machine_id: string;
    due_at: Time;
    queued_at: Time;
    /** Why its start was refused when it was tried last. */
    waits_for: ColumnType<StoredWait | null, never, never>;
  };
  machine_ends: {
    id: string;
    machine_id: string;
    ended_at: Generated<Date>;
    cause: MachineEndCause;
    exit_code: number | null;
    /** Its number in Linux. */
    signal: number | null;
    out_of_memory: Generated<boolean>;
    reason: string;
    restarted_at: Date | null;
  };
}
