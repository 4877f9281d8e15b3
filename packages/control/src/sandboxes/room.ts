import { sql } from "kysely";
import type { Manifest } from "../manifest.ts";
import { endedSandboxes, expireFailed } from "./ended-sandboxes.ts";
import { runEnder } from "./run-ender.ts";
import { sandboxReaper } from "./sandbox-reaper.ts";
import { sandboxRoutes, sandboxVmRoutes } from "./sandbox-routes.ts";
import { sandboxSnapshotRoutes } from "./sandbox-snapshot-routes.ts";
import { keptExecutionRoutes } from "./kept-execution-routes.ts";
import { loseSandboxes } from "./lose-sandboxes.ts";

declare module "../context.ts" {
  interface Services {
    "sandbox-reaper": true;
    "run-ender": true;
  }
}

export const sandboxesRoom = {
  routes: [sandboxRoutes, sandboxVmRoutes, sandboxSnapshotRoutes, keptExecutionRoutes],
  ownActs: ["sandbox.adopt", "sandbox.expire", "sandbox.fail"],
  services: [
    {
      name: "sandbox-reaper",
      everyMs: 10_000,
      setting: "SKERRY_REAPER_INTERVAL_MS",
      make: (own, everyMs, { pausedKeptDays }) => sandboxReaper(own, everyMs, pausedKeptDays),
    },
    { name: "run-ender", everyMs: 5_000, setting: "SKERRY_RUN_ENDER_INTERVAL_MS", make: runEnder },
  ],
  kept: { endedSandboxes },
  organizationSweeps: { expireFailed },
  onHostsLost: loseSandboxes,
  async onHostRemoved(transaction, hostId) {
    await sql`
      update sandboxes set host_lost = false, version = version + 1, status = 'failed', reason = 'its host was removed'
      where host_id = ${hostId} and (status = 'unreachable' or status = 'failed' and host_lost)`.execute(
      transaction,
    );
  },
} satisfies Manifest;
