// Sandboxes.

import type { ColumnType, Generated } from "kysely";
import type { SandboxMode, SandboxStatus } from "@skerry/contract/sandboxes/sandbox-status";
import type { MaybeTime } from "./columns.ts";
import type { VmColumns } from "./vm-tables.ts";

/** How the ports of one sandbox are served, where that is not as all are. */
export interface PortOptions {
  /** Ports on which the guest speaks TLS; its certificate is not looked at. */
  readonly https?: readonly number[];
  /** Header `Host` that the guest gets; `${PORT}` in it is the port. */
  readonly host?: string;
  /** Its ports are told as E2B's clients expect it: e2b-visitors.ts. */
  readonly e2b?: true;
}

/** A sandbox on its way to a snapshot. All attempts are one incarnation, so the host carries out one of them. */
export interface Rollback {
  readonly snapshot_id: string;
  /** Id of the life that begins at the snapshot. */
  readonly execution_id: string;
}

declare module "../database.ts" {
  interface Tables {
    /** A view of `vms`. */
    sandboxes: VmColumns<SandboxStatus> & {
      mode: SandboxMode;
      timeout_ms: number;
      expires_at: ColumnType<Date, Date, never>;
      /** Since when it is paused. */
      paused_at: MaybeTime;
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
    };
  }
}
