import { sql } from "kysely";
import type { LostHost } from "../context.ts";

/** These hosts as rows `lost (id, name, is_new)` of a statement. */
export function lostHosts(hosts: readonly LostHost[]) {
  const column = <Name extends keyof LostHost>(name: Name) => hosts.map((host) => host[name]);
  return sql`unnest(${column("id")}::text[], ${column("name")}::text[], ${column("is_new")}::boolean[])
    as lost (id, name, is_new)`;
}
