// Ports of hosts for services that are plain TCP. A group keeps its port until its app is deleted.

import { sql, type Selectable } from "kysely";
import { ORGANIZATION_TCP_PORTS_MAX } from "@skerry/contract/apps/app-bounds";
import { SkerryError } from "@skerry/contract/errors";
import type { AppAddresses, Context } from "../../context.ts";
import type { Queries, Tables } from "../../db/database.ts";
import { lockOrganization } from "../../limits/organization-limits.ts";
import { boundReached } from "../../limits/quota-exceeded.ts";
import type { AppRow } from "../app-store.ts";
import type { StoredManifest } from "../app-tables.ts";

export type TcpPortRow = Selectable<Tables["tcp_ports"]>;

/** Ports of these apps. */
export async function tcpPortsOf(db: Queries, appIds: readonly string[]): Promise<TcpPortRow[]> {
  const { rows } = await sql<TcpPortRow>`
    select * from tcp_ports where app_id = any(${appIds}) order by port`.execute(db);
  return rows;
}

/** Gives each group of the manifest that is plain TCP a port, where it has none that hosts listen on. */
export async function takePorts(
  context: Pick<Context, "apps">,
  transaction: Queries,
  { app, manifest }: { readonly app: Pick<AppRow, "id" | "org_id">; readonly manifest: StoredManifest },
): Promise<void> {
  const groups = manifest.services.flatMap(({ group, protocol }) => (protocol === "tcp" ? [group] : []));
  if (groups.length === 0) return;
  const { tcpPorts: range } = context.apps;
  if (range === undefined)
    throw new SkerryError("invalid_manifest", "Hosts of this platform have no ports for services of TCP.", {
      remediation: "Have the operator set SKERRY_APPS_TCP_PORTS, for example to 7100-7199.",
      context: { field: "services" },
    });
  // Others of the organization take theirs after it, so that they are counted.
  await lockOrganization(transaction, app.org_id);
  const known = await tcpPortsOf(transaction, [app.id]);
  for (const group of groups) {
    const own = known.find(({ group_name }) => group_name === group);
    if (own !== undefined && own.port >= range.first && own.port <= range.last) continue;
    await takePort(transaction, { app, group, range });
  }
}

interface Wish {
  readonly app: Pick<AppRow, "id" | "org_id">;
  readonly group: string;
  readonly range: NonNullable<AppAddresses["tcpPorts"]>;
}

async function takePort(transaction: Queries, { app, group, range }: Wish): Promise<void> {
  await sql`delete from tcp_ports where app_id = ${app.id} and group_name = ${group}`.execute(transaction);
  const { rows: own } = await sql<{ used: number }>`
    select count(*)::int as used from tcp_ports join apps on apps.id = app_id
    where org_id = ${app.org_id}`.execute(transaction);
  const used = own[0]?.used ?? 0;
  const [quota, limit] = ["tcp_ports", ORGANIZATION_TCP_PORTS_MAX] as const;
  if (used >= limit) throw boundReached({ quota, nouns: "ports for services of TCP", used, limit });
  // Two that take the same one at once: the second waits for the first, and takes the next.
  for (let tries = range.first; tries <= range.last; tries += 1) {
    const { rows } = await sql<{ port: number }>`
      insert into tcp_ports (port, app_id, group_name)
      select port, ${app.id}, ${group} from generate_series(${range.first}::int, ${range.last}::int) as port
      where port not in (select port from tcp_ports) order by port limit 1
      on conflict (port) do nothing returning port`.execute(transaction);
    if (rows.length > 0) return;
  }
  throw new SkerryError("no_capacity", "All ports of hosts for services of TCP are taken.", {
    remediation: "Have the operator set SKERRY_APPS_TCP_PORTS to more, or delete an app that has one.",
    context: { first: range.first, last: range.last },
  });
}
