import { sql } from "kysely";
import type { Manifest } from "../manifest.ts";
import { secretRoutes } from "./secret-routes.ts";

export const secretsRoom = {
  routes: [secretRoutes],
  async onOrganizationDeleted(transaction, orgId) {
    await sql`delete from secret_versions where org_id = ${orgId}`.execute(transaction);
  },
} satisfies Manifest;
