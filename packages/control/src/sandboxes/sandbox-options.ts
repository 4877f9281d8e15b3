import { sql } from "kysely";
import type { Queries } from "../db/database.ts";
import type { PortOptions } from "../db/tables/sandbox-tables.ts";

/** Options that E2B's clients ask for beside what ours do, which a creation has no words for. */
export async function setSandboxOptions(
  db: Queries,
  { orgId, id }: { readonly orgId: string; readonly id: string },
  { keepsMemory, ports }: { readonly keepsMemory: boolean; readonly ports: PortOptions },
): Promise<void> {
  await sql`
    update sandboxes set keeps_memory = ${keepsMemory}, port_options = ${JSON.stringify(ports)}::jsonb
    where id = ${id} and org_id = ${orgId}`.execute(db);
}
