import { sql, type Selectable } from "kysely";
import type { HostInfo } from "@skerry/contract/host-api";
import { HOST_OFFLINE_AFTER_S } from "@skerry/contract/host-states";
import { newId } from "@skerry/contract/ids";
import { sandboxStatusesOnHost } from "@skerry/contract/sandbox-states";
import type { Database, Queries, Tables } from "./database.ts";

export type HostRow = Selectable<Tables["hosts"]>;

/** What placement has to know of a host. */
export interface HostLoad extends HostRow {
  readonly used_memory_mib: number;
  readonly used_vcpus: number;
}

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

/** Hosts that may get new sandboxes, with what is taken of them. */
export function availableHosts(db: Queries): Promise<HostLoad[]> {
  return loads(db).execute();
}

/** The same for one host, which stays locked against other placements until the transaction ends. */
export async function lockAvailableHost(db: Queries, id: string): Promise<HostLoad | undefined> {
  // Lock first, sum after: a sum taken before the lock would miss what the previous holder wrote.
  await sql`select id from hosts where id = ${id} for no key update`.execute(db);
  return loads(db).where("h.id", "=", id).executeTakeFirst();
}

function loads(db: Queries) {
  const used = (column: "memory_mib" | "vcpus") =>
    sql<number>`coalesce((
      select sum(${sql.ref(`s.${column}`)}) from sandboxes s
      where s.host_id = h.id and s.status in (${sql.join(sandboxStatusesOnHost)})
    ), 0)::integer`;
  return db
    .selectFrom("hosts as h")
    .selectAll("h")
    .select([used("memory_mib").as("used_memory_mib"), used("vcpus").as("used_vcpus")])
    .where("h.status", "=", "online")
    .where(sql<boolean>`h.last_heartbeat > now() - ${HOST_OFFLINE_AFTER_S} * interval '1 second'`);
}
