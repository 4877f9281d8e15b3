import { sql } from "kysely";
import type { Manifest } from "../manifest.ts";
import { deletedTemplates } from "./deleted-templates.ts";
import { templateRoutes } from "./template-routes.ts";

export const templatesRoom = {
  routes: [templateRoutes],
  kept: { deletedTemplates },
  /** The service `builder` removes the templates from their hosts. */
  async onOrganizationDeleted(transaction, orgId) {
    await sql`delete from template_tags where org_id = ${orgId}`.execute(transaction);
    await sql`
      update templates set status = 'deleting', version = version + 1, deleted_at = now()
      where org_id = ${orgId} and status = 'ready'`.execute(transaction);
  },
  async onHostRemoved(transaction, hostId) {
    await sql`delete from template_hosts where host_id = ${hostId}`.execute(transaction);
    await sql`delete from template_copies where host_id = ${hostId}`.execute(transaction);
  },
} satisfies Manifest;
