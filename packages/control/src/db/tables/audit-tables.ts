// The audit log.

import type { Generated } from "kysely";
import type { Time } from "./columns.ts";

declare module "../database.ts" {
  interface Tables {
    audit_events: {
      id: string;
      org_id: string;
      at: Time;
      service: string | null;
      user_id: string | null;
      token_id: string | null;
      address: string | null;
      request_id: string | null;
      action: string;
      resource_kind: string;
      resource_id: string | null;
      outcome: "success" | "denied" | "failure";
      code: string | null;
      count: Generated<number>;
      /** The command that was run, or the path of the file, where the organization has asked for details. */
      detail: string | null;
    };
  }
}
