import { sql } from "kysely";
import type { Manifest } from "../manifest.ts";
import { endedSnapshots } from "./ended-snapshots.ts";
import { snapshotRoutes } from "./snapshot-routes.ts";

export const snapshotsRoom = {
  routes: [snapshotRoutes],
  ownActs: ["snapshot.fail"],
  kept: { endedSnapshots },
  async onHostRemoved(transaction, hostId) {
    await sql`
      update snapshots set status = 'failed', version = version + 1, reason = 'its host was removed', claimed_until = null
      where host_id = ${hostId} and status in ('creating', 'ready')`.execute(transaction);
  },
  async endOnRemovedHosts(db) {
    const { numAffectedRows } = await sql`
      update snapshots set status = 'deleted', version = version + 1, deleted_at = now()
      where status = 'deleting' and host_id in (select id from hosts where removed_at is not null)`.execute(
      db,
    );
    return Number(numAffectedRows ?? 0);
  },
} satisfies Manifest;
