import { sql } from "kysely";
import type { Room } from "../room.ts";

export const registriesRoom: Room = {
  async onOrganizationDeleted(transaction, orgId) {
    await sql`delete from registry_credentials where org_id = ${orgId}`.execute(transaction);
  },
};
