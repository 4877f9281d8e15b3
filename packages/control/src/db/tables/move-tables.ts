// VMs on their way from one host to another.

import type { Generated } from "kysely";
import type { MoveStatus } from "@skerry/contract/moves/move-status";

declare module "../database.ts" {
  interface Tables {
    moves: {
      id: string;
      vm_id: string;
      from_host_id: string;
      to_host_id: string;
      from_execution_id: string;
      to_execution_id: string;
      ticket: string;
      vcpus: number;
      memory_mib: number;
      status: MoveStatus;
      version: Generated<number>;
      reason: string | null;
      created_at: Generated<Date>;
      status_since: Generated<Date>;
      attempts: Generated<number>;
      retry_at: Generated<Date>;
    };
  }
}
