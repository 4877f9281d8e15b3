// Snapshots of sandboxes and machines.

import type { Generated } from "kysely";
import type { HostCompatibility } from "@skerry/contract/moves/host-compatibility";
import type { SnapshotStatus } from "@skerry/contract/snapshots/snapshot-status";
import type { Json, MaybeTime } from "./columns.ts";

declare module "../database.ts" {
  interface Tables {
    snapshots: {
      id: string;
      org_id: string;
      name: string | null;
      vm_id: string;
      /** Id of the life of the sandbox, or machine, that the snapshot was taken of. */
      execution_id: string;
      parent_id: string | null;
      /** Command of a machine's main process. */
      command: string | null;
      template: string;
      size: string;
      disk_gib: number;
      host_id: string;
      status: SnapshotStatus;
      version: Generated<number>;
      /** Its VM had secrets in its environment, which its memory has too. */
      contains_secrets: Generated<boolean>;
      /** A fork that is being made begins at it, and no list shows it. */
      is_internal: Generated<boolean>;
      /** PostgreSQL's driver tells large integers as text. */
      memory_bytes: string | null;
      disk_bytes: string | null;
      runs_on: Json<HostCompatibility> | null;
      reason: string | null;
      created_at: Generated<Date>;
      deleted_at: MaybeTime;
      claimed_until: Date | null;
      attempts: Generated<number>;
      retry_at: Generated<Date>;
    };
  }
}
