// Commands whose output outlives their sandbox.

import type { ExecuteExit } from "@skerry/contract/vms/execute";

declare module "../database.ts" {
  interface Tables {
    kept_executions: {
      id: string;
      org_id: string;
      sandbox_id: string;
      command: string;
      /** The sandbox is destroyed when the command has ended. */
      destroys_sandbox: boolean;
      started_at: Date;
      /** Null while it runs, as far as is known. */
      ended_at: Date | null;
      /** Why there is no exit. */
      reason: string | null;
      exit: ExecuteExit | null;
      /** PostgreSQL's driver tells large integers as text. */
      position: string;
      stdout: Buffer;
      stderr: Buffer;
    };
  }
}
