import { sql } from "kysely";
import type { Build } from "@skerry/contract/builds/build";
import { buildStatusesUnderWay } from "@skerry/contract/builds/build-status";
import type { Manifest } from "../manifest.ts";
import { sweepBuildLogs } from "./build-log-store.ts";
import { sweepBuilds } from "./build-store.ts";
import { buildCacheCleanup } from "./build-cache-cleanup.ts";
import { builder } from "./builder.ts";
import { buildRoutes } from "./build-routes.ts";
import { cacheRoutes } from "./cache-routes.ts";

const WITHDRAWN: Build["error"] = {
  code: "egress_forbidden",
  message:
    "The operator withdrew a private network that the build was allowed to reach. Retry it without that network.",
  ...{ step: null, exit_code: null, last_lines: [] },
};

declare module "../context.ts" {
  interface Services {
    builder: true;
    "build-cache-cleanup": true;
  }
}

/** MicroVMs of builds that are canceled go in the builder's next turn. */
export const buildsRoom = {
  routes: [buildRoutes, cacheRoutes],
  ownActs: ["build.fail", "template.create"],
  services: [
    {
      name: "builder",
      everyMs: 10_000,
      setting: "SKERRY_BUILDER_INTERVAL_MS",
      isDueAtStart: true,
      make: builder,
    },
    {
      name: "build-cache-cleanup",
      everyMs: 600_000,
      setting: "SKERRY_CACHE_CLEANUP_INTERVAL_MS",
      make: buildCacheCleanup,
    },
  ],
  sweeps: { sweepBuildLogs },
  organizationSweeps: { sweepBuilds },
  /** Erases also requests of builds that ended, which may hold secrets. */
  async onOrganizationDeleted(transaction, orgId) {
    await sql`
      update builds set status = 'canceled', version = version + 1, finished_at = now(), retry_at = now()
      where org_id = ${orgId} and status in (${sql.join(buildStatusesUnderWay)})`.execute(transaction);
    await sql`
      update builds set request = jsonb_build_object('name', name),
        config = '{"env": {}, "user": null, "workdir": null}'
      where org_id = ${orgId}`.execute(transaction);
  },
  /**
   * Cancels builds whose policy allows something of a network that is granted now and is not among the next
   * grants: the policy of a build never changes.
   */
  async onPrivateCidrs(transaction, { orgId, cidrs }) {
    await sql`
      update builds set
        status = 'canceled', version = version + 1, attempts = 0, retry_at = now(), finished_at = now(),
        error = ${JSON.stringify(WITHDRAWN)}::jsonb
      where org_id = ${orgId} and status in (${sql.join(buildStatusesUnderWay)}) and exists (
        select 1 from organizations, unnest(allowed_private_cidrs) granted,
          jsonb_array_elements_text(egress -> 'allow_cidrs') allowed
        where organizations.id = ${orgId} and granted::inet && allowed::inet
          and not granted::inet <<= any(${cidrs}::text[]::inet[])
      )`.execute(transaction);
  },
} satisfies Manifest;
