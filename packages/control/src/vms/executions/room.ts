import { sql } from "kysely";
import { endedExecutions } from "./kept-execution-store.ts";
import type { Room } from "../../context.ts";

export const executionsRoom: Room = {
  kept: { endedExecutions },
  async onOrganizationDeleted(transaction, orgId) {
    await sql`delete from kept_executions where org_id = ${orgId}`.execute(transaction);
  },
};
