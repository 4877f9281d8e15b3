import type { Generated } from "kysely";

declare module "../database.ts" {
  interface Tables {
    usage_samples: {
      /** Empty: a mark that the minute was measured. */
      org_id: string;
      /** Since 1970. */
      minute: number;
      sandboxes: Generated<number>;
      machines: Generated<number>;
      vcpus: Generated<number>;
      /** PostgreSQL's driver tells large integers as text. */
      memory_mib: Generated<string>;
      disk_gib: Generated<string>;
      created: Generated<number>;
      denied: Generated<string>;
    };
  }
}
