// Rows of the build cache: what steps have left, by their keys. Always of one organization; hits of another one are not looked for.

import { sql, type Selectable } from "kysely";
import { buildStatusesUnderWay } from "@skerry/contract/builds/build-status";
import type { DiskImage } from "@skerry/contract/host-api/templates";
import type { InstallationLimits } from "../context.ts";
import type { Database, Queries, Tables } from "../db/database.ts";
import { ago, daysAgo } from "../db/steady-time.ts";
import { cachedByHost } from "./cache-usage.ts";

export type CacheRow = Omit<Selectable<Tables["build_cache"]>, "bytes"> & {
  readonly bytes: number;
  /** A build that is under way begins on it. */
  readonly in_use: boolean;
};

const GIB = 1024 ** 3;
/** A build that died while its host wrote a layer left such a row behind. No build lasts longer. */
const WRITTEN_WITHIN = sql`interval '3 hours'`;

const inUse = sql`exists (
  select from builds where cache_id = build_cache.id and status in (${sql.join(buildStatusesUnderWay)}))`;
const columns = sql`build_cache.*, bytes::float8 as bytes, ${inUse} as in_use`;

/** Of those keys, what is ready on this host; each is noted as used now. */
export async function takeCached(
  transaction: Queries,
  {
    orgId,
    hostId,
    keys,
  }: { readonly orgId: string; readonly hostId: string; readonly keys: readonly string[] },
): Promise<CacheRow[]> {
  if (keys.length === 0) return [];
  const { rows } = await sql<CacheRow>`
    update build_cache set last_used_at = now()
    where org_id = ${orgId} and host_id = ${hostId} and status = 'ready' and key = any(${keys}::text[])
    returning ${columns}`.execute(transaction);
  return rows;
}

/** Before its host is told of it, so that what the host has is always named by a row. */
export async function beginCached(
  db: Queries,
  row: Pick<CacheRow, "id" | "org_id" | "host_id" | "key" | "kind" | "name">,
): Promise<void> {
  await db
    .insertInto("build_cache")
    .values({ ...row, status: "writing" })
    .execute();
}

/** Whether builds find it. */
export async function isCached(db: Queries, id: string): Promise<boolean> {
  const { rows } = await sql`select from build_cache where id = ${id} and status = 'ready'`.execute(db);
  return rows.length > 0;
}

/** From now on it is found, in the place of an older one with its key. */
export async function finishCached(
  db: Queries,
  { id, image, bytes }: { readonly id: string; readonly image: DiskImage; readonly bytes: number },
): Promise<void> {
  await sql`
    with finished as (
      update build_cache set status = 'ready', image = ${JSON.stringify(image)}::jsonb, bytes = ${bytes}, last_used_at = now()
      where id = ${id} and status = 'writing' returning org_id, host_id, key
    )
    update build_cache older set status = 'deleting' from finished
    where older.org_id = finished.org_id and older.host_id = finished.host_id and older.key = finished.key
      and older.status = 'ready' and older.id <> ${id}`.execute(db);
}

export async function dropCached(db: Queries, ids: readonly string[]): Promise<void> {
  await sql`update build_cache set status = 'deleting' where id = any(${ids}::text[])`.execute(db);
}

/** Key of a disk that a build keeps for itself alone: no step has such a key, so no other build finds it. */
export function keyOfBuild(buildId: string): string {
  return `build ${buildId}`;
}

/** The build has ended. */
export async function dropKeptOf(db: Queries, buildId: string): Promise<void> {
  await sql`
    update build_cache set status = 'deleting' where key = ${keyOfBuild(buildId)} and status = 'ready'
      and org_id = (select org_id from builds where id = ${buildId})`.execute(db);
}

export async function listCached(
  db: Queries,
  orgId: string,
  { before, limit }: { readonly before: string | undefined; readonly limit: number },
): Promise<CacheRow[]> {
  const { rows } = await sql<CacheRow>`
    select ${columns} from build_cache
    where org_id = ${orgId} and status = 'ready' and (${before ?? null}::text is null or id < ${before ?? null})
    order by id desc limit ${limit}`.execute(db);
  return rows;
}

export interface CacheTotal {
  readonly entries: number;
  readonly bytes: number;
}

/** All of an organization that no build under way begins on. */
export async function clearCached(db: Database, orgId: string): Promise<CacheTotal> {
  return evicted(db, sql`org_id = ${orgId}`);
}

/** What was not used for so long, and all of organizations that were deleted: also what a step that was under way has left after that. */
export async function evictUnused(db: Database, days: number): Promise<CacheTotal> {
  return evicted(
    db,
    sql`(last_used_at < ${daysAgo(days)}
      or org_id in (select id from organizations where deleted_at is not null))`,
  );
}

/** Of this organization and this host alone, or of all. Returns how many have given way. */
export async function keepWithinBudgets(
  db: Database,
  { buildCacheGib, buildCacheHostGib }: Pick<InstallationLimits, "buildCacheGib" | "buildCacheHostGib">,
  owners: Partial<Pick<CacheRow, "org_id" | "host_id">> = {},
): Promise<number> {
  const ofOrganization = await evictBeyond(db, "org_id", {
    bytes: buildCacheGib * GIB,
    owner: owners.org_id,
  });
  const onHost = await evictBeyond(db, "host_id", { bytes: buildCacheHostGib * GIB, owner: owners.host_id });
  return ofOrganization.entries + onHost.entries;
}

/**
 * Where less than a tenth of a host's disk is free, the cache there gives way until it would be, as far as that goes. What was used within the hour
 * stays: its host keeps the files for so long all the same.
 */
export async function makeRoomOnDisks(db: Database): Promise<CacheTotal> {
  const total = { entries: 0, bytes: 0 };
  for (const { id, bytes, lacking } of await cachedByHost(db)) {
    if (lacking <= 0 || bytes === 0) continue;
    const unused = sql`last_used_at < ${ago(sql`interval '1 hour'`)}`;
    const bounds = { bytes: Math.max(0, bytes - lacking), owner: id };
    const gone = await evictBeyond(db, "host_id", bounds, unused);
    total.entries += gone.entries;
    total.bytes += gone.bytes;
  }
  return total;
}

/** Hosts that have any of these, first the one that has the one furthest on. */
export async function hostsWithKeys(
  db: Queries,
  orgId: string,
  keys: readonly (string | null)[],
): Promise<string[]> {
  const { rows } = await sql<{ host_id: string }>`
    select host_id from build_cache
    join unnest(${[...keys]}::text[]) with ordinality as asked (asked_key, place) on asked_key = key
    where org_id = ${orgId} and status = 'ready'
    group by host_id order by max(place) desc, host_id`.execute(db);
  return rows.map(({ host_id }) => host_id);
}

/** Also where they have no bytes: steps that write nothing leave entries all the same. */
export const ENTRIES_MAX = { org_id: 5_000, host_id: 50_000 };

/**
 * What builds begin on stays, and then what was used last, as much as there is room for. An entry keeps all layers of its image on its host, also
 * those whose own entries are gone: each layer counts once on each host, with the first of the entries to stay that stands on it. The lowest one is
 * a built-in template's, or empty, and does not count.
 */
async function evictBeyond(
  db: Database,
  of: "org_id" | "host_id",
  { bytes, owner }: { readonly bytes: number; readonly owner: string | undefined },
  which = sql`true`,
): Promise<CacheTotal> {
  const isOwners = owner === undefined ? sql`true` : sql`${sql.ref(of)} = ${owner}`;
  return evicted(
    db,
    sql`${which} and id in (
      with entries as (
        select id, host_id, image, ${sql.ref(of)} as owner, row_number() over (order by ${inUse} desc, last_used_at desc, id desc) as place
        from build_cache where status = 'ready' and ${isOwners}
      ), layers as (
        select distinct on (owner, host_id, layer ->> 'digest') id, (layer ->> 'bytes')::bigint as bytes
        from entries, jsonb_array_elements(image -> 'layers') with ordinality as found (layer, height)
        where height > 1
        order by owner, host_id, layer ->> 'digest', place
      ), carried as (
        select id, sum(bytes) as bytes from layers group by id
      )
      select id from (
        select id, sum(coalesce(carried.bytes, 0)) over (partition by owner order by place) as upto,
          row_number() over (partition by owner order by place) as count
        from entries left join carried using (id)
      ) kept where upto > ${bytes} or count > ${ENTRIES_MAX[of]}
    )`,
  );
}

/**
 * But what builds under way begin on. What one is taking at this moment is left alone: its row is not committed yet, so its entry is locked first, and
 * builds are looked at by a later statement, which sees those that were committed until then.
 */
async function evicted(db: Database, which: ReturnType<typeof sql>): Promise<CacheTotal> {
  return db.transaction().execute(async (transaction) => {
    const locked = await sql<{ id: string }>`
      select id from build_cache where status = 'ready' and ${which} and not ${inUse} for update skip locked`.execute(
      transaction,
    );
    const { rows } = await sql<CacheTotal>`
      with gone as (
        update build_cache set status = 'deleting'
        where id = any(${locked.rows.map(({ id }) => id)}::text[]) and not ${inUse} returning bytes
      )
      select count(*)::integer as entries, coalesce(sum(bytes), 0)::float8 as bytes from gone`.execute(
      transaction,
    );
    return rows[0] ?? { entries: 0, bytes: 0 };
  });
}

/** What hosts may still have and is not used any more. In no order, so that what a host refuses does not keep the others waiting. */
export async function cachedToDelete(
  db: Queries,
  limit: number,
): Promise<{ readonly id: string; readonly host_id: string; readonly bytes: number }[]> {
  const { rows } = await sql<{ id: string; host_id: string; bytes: number }>`
    select build_cache.id, host_id, bytes::float8 as bytes from build_cache join hosts on hosts.id = host_id
    where (build_cache.status = 'deleting'
        or build_cache.status = 'writing' and build_cache.created_at < ${ago(WRITTEN_WITHIN)})
      and (hosts.status <> 'offline' or hosts.removed_at is not null)
    order by random() limit ${limit}`.execute(db);
  return rows;
}

export async function forgetCached(db: Queries, id: string): Promise<void> {
  await sql`delete from build_cache where id = ${id}`.execute(db);
}

/** Ids of what a host should have. */
export async function cachedOnHost(db: Queries, hostId: string): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from build_cache where host_id = ${hostId} and status = 'ready'`.execute(db);
  return rows.map(({ id }) => id);
}

/** Hosts that have anything. */
export async function hostsOfCache(db: Queries): Promise<string[]> {
  const { rows } = await sql<{ host_id: string }>`
    select distinct host_id from build_cache where status = 'ready'`.execute(db);
  return rows.map(({ host_id }) => host_id);
}
