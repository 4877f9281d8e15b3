import { sql } from "kysely";
import type { Room } from "../room.ts";
import { endedSandboxes, expireFailed } from "./ended-sandboxes.ts";

export const sandboxesRoom: Room = {
  kept: { endedSandboxes },
  organizationSweeps: { expireFailed },
  async onHostRemoved(transaction, hostId) {
    await sql`
      update sandboxes set host_lost = false, version = version + 1, status = 'failed', reason = 'its host was removed'
      where host_id = ${hostId} and (status = 'unreachable' or status = 'failed' and host_lost)`.execute(
      transaction,
    );
  },
};
