// Hosts that are not heard of any more.

import { sql } from "kysely";
import type { LostHost } from "../context.ts";
import type { Queries } from "../db/database.ts";
import { isOverdue } from "./host-rows.ts";

/** A host counts as silent only where it was asked in vain at least twice, which is a period apart, and lately. Where control or the database
 *  was away no host was asked, so no host was silent. */
const ASKED_IN_VAIN_FOR_S = 5;
const ASKED_LATELY_S = 25;

/** Marks hosts offline that were silent for 30 s. Resolves with all that are offline, also those that were before. */
export async function markOffline(db: Queries): Promise<LostHost[]> {
  const { rows } = await sql<LostHost>`
    with silent as (
      update hosts set status = 'offline', version = version + 1, status_since = now(), waits_for = null
      where status in ('online', 'draining') and removed_at is null
        and ${isOverdue()}
        and silent_until > now() - ${ASKED_LATELY_S} * interval '1 second'
        and silent_until - silent_since >= ${ASKED_IN_VAIN_FOR_S} * interval '1 second'
      returning id, name
    )
    select id, name, true as is_new from silent
    union all select id, name, false from hosts where status = 'offline'`.execute(db);
  return rows;
}
