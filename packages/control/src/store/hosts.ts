import { sql, type Selectable } from "kysely";
import type { HostInfo } from "@skerry/contract/host-api";
import { newId } from "@skerry/contract/ids";
import type { Database, Queries, Tables } from "./database.ts";

export type HostRow = Selectable<Tables["hosts"]>;

/** Writes what a host said of itself, and that it lives. Only `offline` is undone by a heartbeat; a drain stays a drain. */
export async function recordHeartbeat(db: Database, address: string, info: HostInfo): Promise<string> {
  const { name, cpus, memory_mib, templates, usage, ...facts } = info;
  const { rows } = await sql<{ id: string }>`
    insert into hosts (id, name, address, status, cpus, memory_mib, templates, facts, usage, last_heartbeat)
    values (${newId("host")}, ${name}, ${address}, 'online', ${cpus}, ${memory_mib},
            ${JSON.stringify(templates)}, ${JSON.stringify(facts)}, ${usage === undefined ? null : JSON.stringify(usage)}, now())
    on conflict (name) do update set
      address = excluded.address,
      status = case when hosts.status = 'offline' then 'online' else hosts.status end,
      cpus = excluded.cpus,
      memory_mib = excluded.memory_mib,
      templates = excluded.templates,
      facts = excluded.facts,
      usage = excluded.usage,
      last_heartbeat = excluded.last_heartbeat
    returning id`.execute(db);
  const id = rows[0]?.id;
  if (id === undefined) throw new Error("an upsert returned no row");
  return id;
}

export function listHosts(db: Queries): Promise<HostRow[]> {
  return db.selectFrom("hosts").selectAll().orderBy("id").execute();
}

export async function hostAddress(db: Queries, id: string): Promise<string | undefined> {
  const row = await db.selectFrom("hosts").select("address").where("id", "=", id).executeTakeFirst();
  return row?.address;
}
