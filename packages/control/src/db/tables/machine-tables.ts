// Machines, and when they are started again.

import type { StoredWait } from "./stored-wait.ts";
import type { ColumnType, Generated } from "kysely";
import type { MachineEndCause } from "@skerry/contract/machines/machine-end";
import type { HealthStatus } from "@skerry/contract/checks/check-bounds";
import type {
  MachineStatus,
  MachineDesired,
  RestartDisk,
  RestartPolicy,
} from "@skerry/contract/machines/machine-status";
import type { SetTime, Time } from "./columns.ts";
import type { VmColumns } from "./vm-tables.ts";

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

declare module "../database.ts" {
  interface Tables {
    /** A view of `vms`. */
    machines: VmColumns<MachineStatus> & {
      desired: Generated<MachineDesired>;
      restart_wished: Generated<boolean>;
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
      /** The snapshot that it begins at where its host does not have its own disk any more. Null unless a rollback is under way. */
      rollback_to: string | null;
      stopped_at: SetTime;
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
}
