// What hosts said of themselves, and which of them said nothing. All ages are measured by the database's clock alone.

import { sql } from "kysely";
import type { HostInfo } from "@skerry/contract/host-api/host-info";
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

export interface Beat {
  readonly id: string;
  readonly info: HostInfo;
}

/** A pause of this length between two askings in vain breaks the silence in two: no replica asked meanwhile. So does a clock that was set back. */
const SILENCE_GAP_S = 25;

/** Writes what hosts answered, in one statement. Returns whether one of them has news: it was silent, or a VM has ended on it. Only
 *  `offline` is undone by a heartbeat. */
export async function recordHeartbeats(db: Database, beats: readonly Beat[]): Promise<boolean> {
  const column = (pick: (info: HostInfo) => unknown) => beats.map(({ info }) => pick(info));
  const { rows } = await sql<{ news: boolean }>`
    update hosts set
      status = case when hosts.status <> 'offline' then hosts.status
                    when hosts.desired = 'drained' then 'draining' else 'online' end,
      version = hosts.version + (hosts.status = 'offline')::integer,
      status_since = case when hosts.status = 'offline' then now() else hosts.status_since end,
      -- One that has never answered has nothing of ours.
      unsettled = hosts.unsettled or hosts.status = 'offline' and hosts.cpus > 0,
      cpus = beat.cpus, memory_mib = beat.memory_mib, templates = beat.templates::jsonb,
      facts = beat.facts::jsonb, usage = beat.usage::jsonb,
      last_heartbeat = now(), silent_since = null, silent_until = null
    from unnest(
      ${beats.map(({ id }) => id)}::text[], ${column((info) => info.cpus)}::integer[],
      ${column((info) => info.memory_mib)}::integer[],
      ${column((info) => JSON.stringify(info.templates))}::text[], ${column(factsOf)}::text[],
      ${column((info) => (info.usage === undefined ? null : JSON.stringify(info.usage)))}::text[]
    ) as beat (id, cpus, memory_mib, templates, facts, usage)
    join hosts old on old.id = beat.id
    where hosts.id = beat.id and hosts.removed_at is null
    returning old.status = 'offline' or old.silent_since is not null
              or old.facts -> 'ended' is distinct from hosts.facts -> 'ended' as news`.execute(db);
  return rows.some((row) => row.news);
}

/** Everything that has no column of its own. */
function factsOf({
  name: _name,
  cpus: _cpus,
  memory_mib: _mib,
  templates: _templates,
  usage: _usage,
  ...facts
}: HostInfo): string {
  return JSON.stringify(facts);
}

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
