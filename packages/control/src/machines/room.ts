import { sql } from "kysely";
import type { Manifest } from "../manifest.ts";
import { endedMachines } from "./ended-machines.ts";
import { sweepMachineRestarts } from "./machine-restarts.ts";
import { restartQueue } from "./restart-queue.ts";
import { machineRoutes, machinePowerRoutes, machineVmRoutes } from "./machine-routes.ts";
import { machineLogRoutes } from "./machine-log-routes.ts";
import { machineSnapshotRoutes } from "./machine-snapshot-routes.ts";
import { loseMachines } from "./lose-machines.ts";

declare module "../context.ts" {
  interface Services {
    "restart-manager": true;
  }
}

export const machinesRoom = {
  routes: [machineRoutes, machinePowerRoutes, machineLogRoutes, machineVmRoutes, machineSnapshotRoutes],
  ownActs: ["machine.adopt", "machine.end"],
  services: [{ name: "restart-manager", everyMs: 30_000, isDueAtStart: true, make: restartQueue }],
  kept: { endedMachines },
  sweeps: { sweepMachineRestarts },
  onHostsLost: loseMachines,
  async onHostRemoved(transaction, hostId) {
    await sql`
      update machines set host_lost = false, version = version + 1, reason = case
        when restart_disk = 'keep' then 'disk_gone: its host was removed, with its disk' else 'its host was removed' end
      where host_id = ${hostId} and host_lost`.execute(transaction);
  },
} satisfies Manifest;
