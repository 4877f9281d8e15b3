import { sql } from "kysely";
import type { LostHost } from "../context.ts";

/** Rows `lost (id, name, is_new)` of these hosts, for a statement. */
export function lostHosts(hosts: readonly LostHost[]) {
  const column = <Name extends keyof LostHost>(name: Name) => hosts.map((host) => host[name]);
  return sql`unnest(${column("id")}::text[], ${column("name")}::text[], ${column("is_new")}::boolean[])
    as lost (id, name, is_new)`;
}
