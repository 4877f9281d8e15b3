import { sql } from "kysely";
import type { Room } from "../context.ts";

export const limitsRoom: Room = {
  async onOrganizationDeleted(transaction, orgId) {
    await sql`delete from organization_limits where org_id = ${orgId}`.execute(transaction);
  },
};
