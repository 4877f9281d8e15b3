import type { Egress } from "@skerry/contract/vms/egress";
import type { Queries } from "../db/database.ts";

/** What an organization says about the policies of its sandboxes and machines. */
export interface EgressSettings {
  /** The mode of one whose request says nothing about it. */
  readonly defaultMode: Egress["mode"];
  /** What the operator has granted. */
  readonly privateCidrs: readonly string[];
}

export async function egressSettings(db: Queries, orgId: string): Promise<EgressSettings> {
  const row = await db
    .selectFrom("organizations")
    .select(["egress_default", "allowed_private_cidrs"])
    .where("id", "=", orgId)
    .executeTakeFirstOrThrow();
  return { defaultMode: row.egress_default, privateCidrs: row.allowed_private_cidrs };
}
