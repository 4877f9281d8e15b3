import { sql } from "kysely";
import { moveStatusesUnderWay } from "@skerry/contract/moves/move-status";
import type { Queries } from "../db/database.ts";
import { templatesThatCanLeave, vmsOf } from "./host-view-store.ts";

/** Puts draining hosts into maintenance on which nothing is left: no VM, no paused sandbox, no snapshot, no build, no move away from it,
 *  and no template that can still go to another host. Call it in a transaction of its own: a placement locks the host first, so
 *  one that is draining when it is looked at here gets none any more. */
export async function finishDrains(db: Queries): Promise<{ readonly id: string; readonly name: string }[]> {
  await sql`select 1 from hosts where status = 'draining' order by id for no key update`.execute(db);
  // A statement of its own, because it has to see what was written while the one before waited.
  const { rows } = await sql<{ id: string; name: string }>`
    update hosts set status = 'maintenance', status_since = now(), version = version + 1, waits_for = null
    where status = 'draining' and not unsettled and removed_at is null and not exists (select 1 from ${vmsOf("hosts.id")} as vms)
      and not exists (select 1 from vms where host_id = hosts.id and status = 'paused')
      and not exists (select 1 from snapshots where host_id = hosts.id and status in ('creating', 'ready', 'deleting'))
      and not exists (select 1 from builds where host_id = hosts.id and execution_id is not null)
      and not exists (select 1 from moves where from_host_id = hosts.id and status in (${sql.join(moveStatusesUnderWay)}))
      and not exists (${templatesThatCanLeave("hosts.id")})
    returning id, name`.execute(db);
  return rows;
}
