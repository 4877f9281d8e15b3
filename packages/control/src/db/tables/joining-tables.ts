// Tokens that hosts join with, and the authorities that certify hosts.

import type { Generated } from "kysely";
import type { Time } from "./columns.ts";

declare module "../database.ts" {
  interface Tables {
    authority: {
      number: Generated<number>;
      status: Generated<"next" | "current" | "previous">;
      status_since: Generated<Date>;
      leave_offline: Generated<boolean>;
      certificate: string;
      /** Null once it is sealed. */
      private_key: string | null;
      sealed_key: Buffer | null;
      created_at: Generated<Date>;
    };
    join_tokens: {
      id: string;
      /** Null: the digest is sealed. */
      secret_sha256: Buffer | null;
      sealed_digest: Buffer | null;
      org_id: string;
      created_by: string;
      created_at: Generated<Date>;
      expires_at: Time;
      authority: number | null;
      host_id: string | null;
    };
  }
}
