// Organizations, their members and tokens.

import type { ColumnType, Generated } from "kysely";
import type { Role } from "@skerry/contract/organizations/roles";
import type { Scope } from "@skerry/contract/organizations/scopes";
import type { Egress } from "@skerry/contract/vms/egress";
import type { MaybeTime, Time } from "./columns.ts";

declare module "../database.ts" {
  interface Tables {
    users: { id: string; name: string; email: string | null; created_at: Generated<Date> };
    organizations: {
      id: string;
      name: string;
      operator: boolean;
      egress_default: Egress["mode"];
      allowed_private_cidrs: Generated<readonly string[]>;
      created_at: Generated<Date>;
      deleted_at: MaybeTime;
      audit_details: Generated<boolean>;
    };
    memberships: { org_id: string; user_id: string; role: Role; created_at: Generated<Date> };
    api_tokens: {
      id: string;
      org_id: string;
      user_id: string;
      name: string;
      secret_sha256: Buffer;
      parent_id: string | null;
      scopes: readonly Scope[];
      bound: boolean;
      idle_s: Generated<number | null>;
      created_at: Generated<Date>;
      expires_at: ColumnType<Date | null, Date | null, never>;
      after_first_use: Generated<Date | null>;
      last_used_at: MaybeTime;
      revoked_at: MaybeTime;
    };
    login_codes: { code_sha256: Buffer; token_id: string; org_id: string; expires_at: Time };
  }
}
