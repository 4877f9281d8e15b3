// Templates of organizations: versions that never change, and the names that find them.

import { sql, type Selectable } from "kysely";
import type { Size } from "@skerry/contract/sizes";
import type { Queries, Tables } from "../db/database.ts";

export type OwnTemplateRow = Selectable<Tables["templates"]> & {
  readonly tags: readonly string[];
  /** Of all sizes that were frozen. */
  readonly frozen_mib: number;
};

export interface NewTemplate extends Pick<
  OwnTemplateRow,
  | "id"
  | "org_id"
  | "name"
  | "digest"
  | "image"
  | "config"
  | "disk_gib"
  | "build_id"
  | "owner_id"
  | "command"
  | "key"
  | "source"
> {
  readonly bytes: number;
}

const frozenMib = sql`(select coalesce(sum(memory_mib), 0)::integer from template_frozen where template_id = t.id)`;
const columns = sql`t.*, coalesce((
  select array_agg(tag order by tag) from template_tags where template_id = t.id), '{}') as tags, ${frozenMib} as frozen_mib`;

export async function insertTemplate(transaction: Queries, template: NewTemplate): Promise<void> {
  await transaction
    .insertInto("templates")
    .values({
      ...template,
      status: "ready",
      bytes: String(template.bytes),
      image: JSON.stringify(template.image),
      config: JSON.stringify(template.config),
      source: template.source === null ? null : JSON.stringify(template.source),
    })
    .execute();
}

/** From now on the tag means this version. */
export async function setTag(
  db: Queries,
  {
    orgId,
    name,
    tag,
    templateId,
  }: { readonly orgId: string; readonly name: string; readonly tag: string; readonly templateId: string },
): Promise<void> {
  await sql`
    insert into template_tags (org_id, name, tag, template_id) values (${orgId}, ${name}, ${tag}, ${templateId})
    on conflict (org_id, name, tag) do update set template_id = excluded.template_id`.execute(db);
  // So that those who follow templates hear of it.
  await sql`update templates set version = version + 1 where id = ${templateId}`.execute(db);
}

/** False where the tag means no version. */
export async function removeTag(
  db: Queries,
  { orgId, name, tag }: { readonly orgId: string; readonly name: string; readonly tag: string },
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    with removed as (
      delete from template_tags where org_id = ${orgId} and name = ${name} and tag = ${tag} returning template_id)
    update templates set version = version + 1 where id in (select template_id from removed)`.execute(db);
  return numAffectedRows === 1n;
}

export interface TemplatePlace {
  readonly templateId: string;
  readonly hostId: string;
  /** Names of sizes that are frozen there, or are being frozen. */
  readonly sizes: readonly string[];
}

export async function noteTemplateOnHost(
  db: Queries,
  { templateId, hostId, sizes }: TemplatePlace,
): Promise<void> {
  await sql`
    insert into template_hosts (template_id, host_id, sizes) values (${templateId}, ${hostId}, ${[...sizes]}::text[])
    on conflict (template_id, host_id) do update set
      sizes = (select coalesce(array_agg(distinct size), '{}') from unnest(template_hosts.sizes || excluded.sizes) size)`.execute(
    db,
  );
}

/** The memory of this size is kept from now on. False where it was before. */
export async function noteFrozenSize(
  transaction: Queries,
  templateId: string,
  size: Pick<Size, "name" | "memory_mib">,
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    with noted as (
      insert into template_frozen (template_id, size, memory_mib) values (${templateId}, ${size.name}, ${size.memory_mib})
      on conflict do nothing returning template_id
    )
    update templates set version = version + 1 where id in (select template_id from noted)`.execute(
    transaction,
  );
  return numAffectedRows === 1n;
}

export async function templateById(
  db: Queries,
  orgId: string,
  id: string,
): Promise<OwnTemplateRow | undefined> {
  const { rows } = await sql<OwnTemplateRow>`
    select ${columns} from templates t where id = ${id} and org_id = ${orgId} and status = 'ready'`.execute(
    db,
  );
  return rows[0];
}

/** Of whatever organization. */
export async function readyTemplate(db: Queries, id: string): Promise<OwnTemplateRow | undefined> {
  const { rows } = await sql<OwnTemplateRow>`
    select ${columns} from templates t where id = ${id} and status = 'ready'`.execute(db);
  return rows[0];
}

export async function templateByTag(
  db: Queries,
  orgId: string,
  { name, tag }: { readonly name: string; readonly tag: string },
): Promise<OwnTemplateRow | undefined> {
  const { rows } = await sql<OwnTemplateRow>`
    select ${columns} from template_tags g join templates t on t.id = g.template_id
    where g.org_id = ${orgId} and g.name = ${name} and g.tag = ${tag} and t.status = 'ready'`.execute(db);
  return rows[0];
}

/** The newest of this name with this digest: two builds of the same may make two. */
export async function templateByDigest(
  db: Queries,
  orgId: string,
  { name, digest }: { readonly name: string; readonly digest: string },
): Promise<OwnTemplateRow | undefined> {
  const { rows } = await sql<OwnTemplateRow>`
    select ${columns} from templates t
    where org_id = ${orgId} and name = ${name} and digest = ${digest} and status = 'ready' order by id desc limit 1`.execute(
    db,
  );
  return rows[0];
}

/** The newest version of this name that was made of the same, and that one of these hosts has. */
export async function templateByKey(
  db: Queries,
  {
    orgId,
    name,
    ownerId,
  }: { readonly orgId: string; readonly name: string; readonly ownerId: string | null },
  { keys, hostIds }: { readonly keys: readonly string[]; readonly hostIds: readonly string[] },
): Promise<(OwnTemplateRow & { readonly host_id: string }) | undefined> {
  const { rows } = await sql<OwnTemplateRow & { readonly host_id: string }>`
    select ${columns}, h.host_id from templates t join template_hosts h on h.template_id = t.id
    where org_id = ${orgId} and name = ${name} and owner_id is not distinct from ${ownerId}::text
      and status = 'ready' and key = any(${keys}::text[])
      and h.host_id = any(${hostIds}::text[])
    order by t.id desc limit 1`.execute(db);
  return rows[0];
}

/** Newest first. */
export async function templatesOfOrganization(
  db: Queries,
  orgId: string,
  limit: number,
): Promise<OwnTemplateRow[]> {
  const { rows } = await sql<OwnTemplateRow>`
    select ${columns} from templates t where org_id = ${orgId} and status = 'ready' order by id desc limit ${limit}`.execute(
    db,
  );
  return rows;
}

export async function templatesOfIds(
  db: Queries,
  orgId: string,
  ids: readonly string[],
): Promise<OwnTemplateRow[]> {
  const { rows } = await sql<OwnTemplateRow>`
    select ${columns} from templates t where org_id = ${orgId} and id = any(${ids}::text[]) and status = 'ready'`.execute(
    db,
  );
  return rows;
}

/** Names by the ids of these versions, also of those that have been deleted. */
export async function namesOfVersions(
  db: Queries,
  orgId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await sql<{ id: string; name: string }>`
    select id, name from templates where org_id = ${orgId} and id = any(${ids}::text[])`.execute(db);
  return new Map(rows.map(({ id, name }) => [id, name]));
}

/** Ids of all versions of this name, also of those that have been deleted. */
export async function versionsOfName(db: Queries, orgId: string, name: string): Promise<readonly string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from templates where org_id = ${orgId} and name = ${name}`.execute(db);
  return rows.map(({ id }) => id);
}

/** Hosts that have it, each with the names of the sizes that are frozen there. */
export async function hostsOfTemplate(db: Queries, id: string): Promise<Map<string, readonly string[]>> {
  const { rows } = await sql<{ host_id: string; sizes: string[] }>`
    select host_id, sizes from template_hosts join hosts on hosts.id = host_id
    where template_id = ${id} and removed_at is null order by host_id`.execute(db);
  return new Map(rows.map(({ host_id, sizes }) => [host_id, sizes]));
}

/** Until the transaction ends it is not deleted. False where it has been. */
export async function holdTemplate(transaction: Queries, id: string): Promise<boolean> {
  const { rows } = await sql`select 1 from templates where id = ${id} and status = 'ready' for share`.execute(
    transaction,
  );
  return rows.length > 0;
}

/** What of it lives, or can begin to live again. */
export async function usersOfTemplate(transaction: Queries, id: string, limit: number): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from sandboxes where template = ${id} and status not in ('failed', 'destroyed')
    union all
    select id from machines where template = ${id} and status <> 'destroyed'
    union all
    select id from snapshots where template = ${id} and status in ('creating', 'ready') and not is_internal
    order by id limit ${limit}`.execute(transaction);
  return rows.map((row) => row.id);
}

/** False where another request was first. Its names find nothing any more. */
export async function beginDeletingTemplate(transaction: Queries, id: string): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update templates set status = 'deleting', version = version + 1, deleted_at = now()
    where id = ${id} and status = 'ready'`.execute(transaction);
  if (numAffectedRows !== 1n) return false;
  await sql`delete from template_tags where template_id = ${id}`.execute(transaction);
  await sql`delete from template_frozen where template_id = ${id}`.execute(transaction);
  return true;
}

/**
 * Those that hosts may still have which are not offline, or have been removed; of one template where it is named. In no order, so that what a host
 * refuses does not keep the others waiting.
 */
export async function templatesToDelete(
  db: Queries,
  { limit, only }: { readonly limit: number; readonly only?: string | undefined },
): Promise<{ readonly id: string; readonly host_id: string }[]> {
  const { rows } = await sql<{ id: string; host_id: string }>`
    select t.id, h.host_id from templates t
    join template_hosts h on h.template_id = t.id
    join hosts on hosts.id = h.host_id
    where t.status = 'deleting' and (hosts.status <> 'offline' or hosts.removed_at is not null)
      and (${only ?? null}::text is null or t.id = ${only ?? null})
    order by random() limit ${limit}`.execute(db);
  return rows;
}

export async function forgetTemplateOnHost(db: Queries, id: string, hostId: string): Promise<void> {
  await sql`delete from template_hosts where template_id = ${id} and host_id = ${hostId}`.execute(db);
}

/** Those that no host has any more. What they were is erased with it: their environments may hold secrets. */
export async function finishDeletingTemplates(db: Queries): Promise<void> {
  await sql`
    update templates t set status = 'deleted', version = version + 1,
      image = '{"layers": [], "disk_gib": 0}', config = '{"env": {}, "user": null, "workdir": null}'
    where status = 'deleting' and not exists (select from template_hosts where template_id = t.id)
      and not exists (select from template_copies where template_id = t.id and status = 'copying')`.execute(
    db,
  );
}

/** Files and frozen memory of all that it has, in GiB, rounded up. What several hosts have counts once. */
export async function heldTemplateGib(db: Queries, orgId: string): Promise<number> {
  const { rows } = await sql<{ gib: number }>`
    select ceil(coalesce(sum(bytes + ${frozenMib} * 1024 * 1024::bigint), 0) / (1024 * 1024 * 1024.0))::integer as gib
    from templates t where org_id = ${orgId} and status = 'ready'`.execute(db);
  return rows[0]?.gib ?? 0;
}

export async function countTemplates(db: Queries, orgId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from templates where org_id = ${orgId} and status = 'ready'`.execute(
    db,
  );
  return rows[0]?.count ?? 0;
}
