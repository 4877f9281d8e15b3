import { sql } from "kysely";
import type { Manifest } from "../manifest.ts";
import { FORWARDER, logForwarder } from "./forward/log-forwarder.ts";
import { appDeployer } from "./app-deployer.ts";
import { proxyHealthChecker } from "./edge/proxy-health.ts";
import { goneApps } from "./gone-apps.ts";
import { appLogRoutes } from "./logs/app-log-routes.ts";
import { appRoutes, appVmRoutes } from "./app-routes.ts";

declare module "../context.ts" {
  interface Services {
    "app-deployer": true;
    "proxy-health-checker": true;
    "log-forwarder": true;
  }
}

export const appsRoom = {
  routes: [appRoutes, appLogRoutes, appVmRoutes],
  ownActs: ["deploy.fail", "deploy.rollback"],
  services: [
    {
      name: "app-deployer",
      everyMs: 10_000,
      setting: "SKERRY_APP_DEPLOYER_INTERVAL_MS",
      isDueAtStart: true,
      make: appDeployer,
    },
    {
      name: "proxy-health-checker",
      everyMs: 10_000,
      setting: "SKERRY_PROXY_CHECK_INTERVAL_MS",
      make: proxyHealthChecker,
    },
    {
      name: FORWARDER,
      everyMs: 10_000,
      setting: "SKERRY_LOG_FORWARDER_INTERVAL_MS",
      isDueAtStart: true,
      make: logForwarder,
    },
  ],
  kept: { goneApps },
  async onOrganizationDeleted(transaction, orgId) {
    await sql`delete from apps where org_id = ${orgId}`.execute(transaction);
    await sql`delete from app_changes where org_id = ${orgId}`.execute(transaction);
  },
} satisfies Manifest;
