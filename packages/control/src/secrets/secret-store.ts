// Rows of secrets' versions. Their values are sealed before they come here.

import { sql, type Selectable } from "kysely";
import type { Queries, Tables } from "../db/database.ts";
import { SECRET_VERSIONS_MAX } from "@skerry/contract/secrets/secret-bounds";

export type SecretRow = Selectable<Tables["secret_versions"]>;

/** Secrets of an organization, or of one of its apps. */
export interface SecretScope {
  readonly orgId: string;
  readonly scope: string;
}

const shown = ["name", "version", "set_at", "set_by", "digest", "rolled_back_to"] as const;
export type ShownRow = Pick<SecretRow, (typeof shown)[number]>;

/** The version of each name that counts, by name. */
export async function findSecrets(db: Queries, { orgId, scope }: SecretScope): Promise<ShownRow[]> {
  const { rows } = await sql<ShownRow>`
    select distinct on (name) ${sql.join(shown.map((column) => sql.ref(column)))} from secret_versions
    where org_id = ${orgId} and scope = ${scope} order by name, version desc`.execute(db);
  return rows;
}

/** The same of these names, with their sealed values. */
export async function findSealed(
  db: Queries,
  { orgId, scope }: SecretScope,
  names: readonly string[],
): Promise<SecretRow[]> {
  const { rows } = await sql<SecretRow>`
    select distinct on (name) * from secret_versions
    where org_id = ${orgId} and scope = ${scope} and name = any(${names}) order by name, version desc`.execute(
    db,
  );
  return rows;
}

/**
 * Lists the newest versions of these names, so many of each, the newest of all names first, but for those of
 * more bytes.
 */
export async function findNewestVersions(
  db: Queries,
  { orgId, scope }: SecretScope,
  { names, count, maxBytes }: { names: readonly string[]; count: number; maxBytes: number },
): Promise<SecretRow[]> {
  const { rows } = await sql<SecretRow>`
    select * from (
      select *, rank() over (partition by name order by version desc) as age from secret_versions
      where org_id = ${orgId} and scope = ${scope} and name = any(${names})
    ) as ranked
    where age <= ${count} and octet_length(sealed_value) <= ${maxBytes} order by age, name`.execute(db);
  return rows;
}

/** Versions of one name, newest first; none where there is no such secret. */
export async function findVersions(
  db: Queries,
  { orgId, scope }: SecretScope,
  name: string,
): Promise<SecretRow[]> {
  return db
    .selectFrom("secret_versions")
    .selectAll()
    .where("org_id", "=", orgId)
    .where("scope", "=", scope)
    .where("name", "=", name)
    .orderBy("version", "desc")
    .execute();
}

export async function countSecrets(db: Queries, { orgId, scope }: SecretScope): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(distinct name)::int as count from secret_versions
    where org_id = ${orgId} and scope = ${scope}`.execute(db);
  return rows[0]?.count ?? 0;
}

/** Adds a version, and forgets those beyond the newest ones. */
export async function addVersion(db: Queries, row: Omit<SecretRow, "set_at">): Promise<SecretRow> {
  const added = await db.insertInto("secret_versions").values(row).returningAll().executeTakeFirstOrThrow();
  await sql`
    delete from secret_versions where org_id = ${row.org_id} and scope = ${row.scope} and name = ${row.name}
      and version <= ${row.version - SECRET_VERSIONS_MAX}`.execute(db);
  return added;
}

/** False where there is none. */
export async function removeSecret(
  db: Queries,
  { orgId, scope }: SecretScope,
  name: string,
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    delete from secret_versions
    where org_id = ${orgId} and scope = ${scope} and name = ${name}`.execute(db);
  return (numAffectedRows ?? 0n) > 0n;
}

export async function removeSecrets(db: Queries, { orgId, scope }: SecretScope): Promise<void> {
  await sql`delete from secret_versions where org_id = ${orgId} and scope = ${scope}`.execute(db);
}

/** Ids of the VMs that were given it and have not ended: those of an app where it is one of that. */
export async function vmsWith(
  db: Queries,
  { orgId, appId }: { readonly orgId: string; readonly appId: string | null },
  name: string,
): Promise<string[]> {
  const given = JSON.stringify([{ name }]);
  const { rows } = await sql<{ id: string }>`
    select id from vms where org_id = ${orgId} and status not in ('destroyed', 'destroying', 'failed', 'stopped')
      and secrets @> ${given}::jsonb and (${appId}::text is null or owner_kind = 'app' and owner_id = ${appId})
    order by id`.execute(db);
  return rows.map(({ id }) => id);
}
