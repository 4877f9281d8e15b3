import { sql } from "kysely";
import type { HostInfo } from "@skerry/contract/host-api/host-info";
import type { Database } from "../db/database.ts";

export interface Beat {
  readonly id: string;
  readonly info: HostInfo;
}

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
