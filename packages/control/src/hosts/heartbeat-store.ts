// What hosts said of themselves, and which of them said nothing. All ages are measured by the database's clock alone.

import { sql } from "kysely";
import { newId } from "@skerry/contract/ids";
import { SET_BACK } from "../db/clock-set-back.ts";
import type { Database } from "../db/database.ts";
import { isOverdue } from "./host-rows.ts";

export interface KnownHost {
  readonly id: string;
  readonly name: string;
  readonly address: string;
  /** Who answers there has shown that it is this host. */
  readonly joined: boolean;
}

export async function hostsToAsk(db: Database): Promise<KnownHost[]> {
  return db
    .selectFrom("hosts")
    .select(["id", "name", "address", "joined"])
    .where("removed_at", "is", null)
    .orderBy("id")
    .execute();
}

/** A pause of this length between two askings in vain breaks the silence in two: no replica asked meanwhile. So does a clock that was set back. */
const SILENCE_GAP_S = 25;

/** The host beside control is known by its name; it gets a row when it first answers. Undefined where a host that has joined has its name. */
export async function registerLocalHost(
  db: Database,
  name: string,
  address: string,
): Promise<string | undefined> {
  const { rows } = await sql<{ id: string }>`
    insert into hosts (id, name, address, status, cpus, memory_mib, templates, facts, last_heartbeat)
    values (${newId("host")}, ${name}, ${address}, 'offline', 0, 0, '[]', '{}', now())
    on conflict (name) do update set address = excluded.address where not hosts.joined
    returning id`.execute(db);
  return rows[0]?.id;
}

/** These were asked and did not answer. Returns whether one of them has been silent for so long that it is offline. */
export async function recordSilence(db: Database, ids: readonly string[]): Promise<boolean> {
  if (ids.length === 0) return false;
  const { rows } = await sql<{ overdue: boolean }>`
    update hosts set
      silent_since = case when silent_until between now() - ${SILENCE_GAP_S} * interval '1 second' and now() + ${SET_BACK}
                          then silent_since else now() end,
      silent_until = now()
    where id = any(${ids}::text[])
    returning status in ('online', 'draining') and ${isOverdue()} as overdue`.execute(db);
  return rows.some((row) => row.overdue);
}
