// MicroVMs. Each row is of one kind; the views `sandboxes` and `machines` add the columns of theirs.

import type { ColumnType, Generated } from "kysely";
import type { Egress } from "@skerry/contract/vms/egress";
import type { ShownSecret } from "@skerry/contract/vms/secrets";
import type { NextEvent } from "./event-tables.ts";
import type { Json, SetTime } from "./columns.ts";

/** Columns of every microVM. */
export interface VmColumns<Status extends string> {
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
  status: Status;
  status_since: Generated<Date>;
  version: Generated<number>;
  /** Another one with each change of what is shown; see db/migrations/0027-changes.ts. */
  changed_seq: Generated<string>;
  execution_id: string;
  host_id: string;
  /** Null: erased, because its destruction has begun. */
  env: Json<Record<string, string | null>>;
  /** Secrets of the environment, and the versions that it was given last. Null: none. Empty: its memory
   *  may have some, from the snapshot that it began at. */
  secrets: ColumnType<ShownSecret[] | null, string | null | undefined, string>;
  metadata: Json<Record<string, string>>;
  egress: Json<Egress>;
  egress_version: Generated<number>;
  egress_applied: Generated<number>;
  /** Ports that need no token. */
  public_ports: Generated<number[]>;
  /** The snapshot that it comes from, or that was taken of it last. */
  snapshot_id: string | null;
  /** The internal snapshot of the fork that made it. */
  forked_by: string | null;
  /** The resource that it belongs to: `owner_kind` and `owner_id`, or neither. */
  owner_kind: ColumnType<string | null, string | null | undefined, never>;
  owner_id: ColumnType<string | null, string | null | undefined, never>;
  owner_name: ColumnType<string | null, string | null | undefined, string | null>;
  created_at: Generated<Date>;
  started_at: SetTime;
  destroyed_at: SetTime;
  reason: string | null;
  /** Its host fell silent while it had the VM, and may still have it. */
  host_lost: Generated<boolean>;
  claimed_until: ColumnType<Date | null, Date | null, Date | null>;
  attempts: Generated<number>;
  retry_at: Generated<Date>;
  /** The event that the end of the transition under way will be told as. */
  next_event: ColumnType<NextEvent | null, string | null | undefined, string | null>;
}

declare module "../database.ts" {
  interface Tables {
    vms: VmColumns<string> & {
      /** Generated from the id. */
      kind: ColumnType<"sandbox" | "machine", never, never>;
    };
  }
}
