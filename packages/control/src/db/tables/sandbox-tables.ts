// Sandboxes.

import type { ColumnType, Generated } from "kysely";
import type { Egress } from "@skerry/contract/vms/egress";
import type { SandboxMode, SandboxStatus } from "@skerry/contract/sandboxes/sandbox-status";
import type { NextEvent } from "./event-tables.ts";
import type { Json, MaybeTime } from "./columns.ts";

/** How the ports of one sandbox are served, where that is not as all are. */
export interface PortOptions {
  /** Ports on which the guest speaks TLS; its certificate is not looked at. */
  readonly https?: readonly number[];
  /** What the guest gets as `Host`; `${PORT}` in it is the port. */
  readonly host?: string;
  /** Its ports are told as E2B's clients expect it: e2b-visitors.ts. */
  readonly e2b?: true;
}

/** A sandbox on its way to a snapshot. All attempts are one incarnation, so the host carries out one of them. */
export interface Rollback {
  readonly snapshot_id: string;
  /** Of the life that begins there. */
  readonly execution_id: string;
}

export interface SandboxTables {
  sandboxes: {
    id: string;
    org_id: string;
    name: string | null;
    /** The name, while it finds this row; null where only the id does. */
    unique_name: string | null;
    template: string;
    mode: SandboxMode;
    size: string;
    vcpus: number;
    memory_mib: number;
    disk_gib: number;
    status: SandboxStatus;
    status_since: Generated<Date>;
    version: Generated<number>;
    execution_id: string;
    host_id: string;
    /** Null: erased, because its destruction has begun. */
    env: Json<Record<string, string | null>>;
    metadata: Json<Record<string, string>>;
    egress: Json<Egress>;
    egress_version: Generated<number>;
    egress_applied: Generated<number>;
    timeout_ms: number;
    created_at: Generated<Date>;
    started_at: MaybeTime;
    expires_at: ColumnType<Date, Date, never>;
    destroyed_at: MaybeTime;
    reason: string | null;
    claimed_until: ColumnType<Date | null, Date | null, never>;
    attempts: Generated<number>;
    retry_at: Generated<Date>;
    host_lost: Generated<boolean>;
    /** Since when it is paused. */
    paused_at: MaybeTime;
    /** Ports that need no token. */
    public_ports: Generated<number[]>;
    /** The snapshot that it comes from, or that was taken of it last. */
    snapshot_id: string | null;
    /** The internal snapshot of the fork that made it. */
    forked_by: string | null;
    /** It is paused when nothing has used it for so long. */
    pause_after_idle_ms: number | null;
    /** A call into it resumes it where it is paused. */
    auto_resume: Generated<boolean>;
    /** Whether the pause at its timeout keeps its memory. */
    keeps_memory: Generated<boolean>;
    /** It was paused without its memory, so it boots from its disk. */
    reboots: Generated<boolean>;
    port_options: ColumnType<PortOptions, string | undefined, string>;
    /** Present while it is resuming at a snapshot, and where its host fell silent meanwhile. */
    rollback: ColumnType<Rollback | null, string | null | undefined, string | null>;
    /** What the end of the transition that is under way will be told as. */
    next_event: ColumnType<NextEvent | null, string | null | undefined, string | null>;
  };
}
