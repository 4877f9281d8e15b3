import { sql } from "kysely";
import type { Manifest } from "../manifest.ts";
import { registryRoutes } from "./registry-routes.ts";

export const registriesRoom = {
  routes: [registryRoutes],
  async onOrganizationDeleted(transaction, orgId) {
    await sql`delete from registry_credentials where org_id = ${orgId}`.execute(transaction);
  },
} satisfies Manifest;
