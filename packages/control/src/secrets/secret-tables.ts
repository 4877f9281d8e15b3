import type { Generated } from "kysely";

declare module "../db/database.ts" {
  interface Tables {
    secret_versions: {
      org_id: string;
      /** `organization`, or the id of the app that it is for. */
      scope: string;
      name: string;
      version: number;
      sealed_value: Buffer;
      digest: Buffer;
      rolled_back_to: number | null;
      set_by: string | null;
      set_at: Generated<Date>;
    };
  }
}
