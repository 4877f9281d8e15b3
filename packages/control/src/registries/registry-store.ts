// Rows of registries' credentials. Their passwords are sealed before they come here.

import { sql, type Selectable } from "kysely";
import type { Queries, Tables } from "../db/database.ts";

export type RegistryRow = Selectable<Tables["registry_credentials"]>;

export async function findRegistries(db: Queries, orgId: string): Promise<RegistryRow[]> {
  return db
    .selectFrom("registry_credentials")
    .selectAll()
    .where("org_id", "=", orgId)
    .orderBy("host")
    .execute();
}

export async function putRegistry(db: Queries, row: Omit<RegistryRow, "set_at">): Promise<RegistryRow> {
  const { rows } = await sql<RegistryRow>`
    insert into registry_credentials (org_id, host, version, username, sealed_password, set_by)
    values (${row.org_id}, ${row.host}, ${row.version}, ${row.username}, ${row.sealed_password}, ${row.set_by})
    on conflict (org_id, host) do update set version = excluded.version, username = excluded.username,
      sealed_password = excluded.sealed_password, set_by = excluded.set_by, set_at = now()
    returning *`.execute(db);
  const [written] = rows;
  if (written === undefined) throw new Error("credentials that were written are not there");
  return written;
}

/** False where there are none. */
export async function removeRegistry(db: Queries, orgId: string, host: string): Promise<boolean> {
  const { numAffectedRows } = await sql`
    delete from registry_credentials where org_id = ${orgId} and host = ${host}`.execute(db);
  return numAffectedRows === 1n;
}
