import { sql } from "kysely";
import type { Room } from "../room.ts";
import { endedMachines } from "./ended-machines.ts";
import { sweepMachineRestarts } from "./machine-restarts.ts";

export const machinesRoom: Room = {
  kept: { endedMachines },
  sweeps: { sweepMachineRestarts },
  async onHostRemoved(transaction, hostId) {
    await sql`
      update machines set host_lost = false, version = version + 1, reason = case
        when restart_disk = 'keep' then 'disk_gone: its host was removed, with its disk' else 'its host was removed' end
      where host_id = ${hostId} and host_lost`.execute(transaction);
  },
};
