// Rows of layers in the object store. Of each organization its own: a layer that two of them have is there twice, each under a key of its own.

import { sql, type Selectable } from "kysely";
import { STORE_LAYER_WITHIN_MS } from "@skerry/contract/host-api/stored-layers";
import { backoff } from "../db/backoff.ts";
import { isAhead } from "../db/clock-set-back.ts";
import type { Database, Queries, Tables } from "../db/database.ts";

export type StoredLayerRow = Selectable<Tables["stored_layers"]>;

const RETRY_MAX_S = 300;

const isTurn = sql<boolean>`not ${isAhead("due_at", RETRY_MAX_S * 1_000)}`;

/**
 * Layers of templates, each as often as templates stand on it. What is stored is compared with them in one pass, by grouping both together: joined,
 * PostgreSQL would read all templates for each row where it takes either side for small.
 */
const ofReadyTemplates = sql`(
  select t.id as template_id, t.org_id, layer ->> 'digest' as digest, (layer ->> 'bytes')::bigint as bytes
  from templates t, jsonb_array_elements(t.image -> 'layers') layer where t.status = 'ready'
) of_ready_templates`;

/** Of layers that templates stand on, those are to be stored that are not there undamaged, and not on their way. Returns how many have begun. */
export async function beginStoring(db: Queries, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`
    insert into stored_layers (id, org_id, digest, bytes, status)
    select replace(gen_random_uuid()::text, '-', ''), org_id, digest, max(bytes), 'storing' from (
      select org_id, digest, bytes, false as is_there from ${ofReadyTemplates}
      union all
      select org_id, digest, bytes, true from stored_layers where status = 'storing' or status = 'ready' and damage is null
    ) both_sides
    group by org_id, digest having not bool_or(is_there) limit ${limit} on conflict do nothing`.execute(db);
  return Number(numAffectedRows ?? 0);
}

/** What no template stands on any more is to be deleted, and does not open from now on. Returns how many there are. */
export async function beginDeletingLayers(db: Queries): Promise<number> {
  const { numAffectedRows } = await sql`
    update stored_layers s set status = 'deleting', sealed_key = null, attempts = 0, due_at = now()
    from (
      select org_id, digest from (
        select org_id, digest, false as is_wanted from stored_layers where status <> 'deleting'
        union all
        select org_id, digest, true from ${ofReadyTemplates}
      ) both_sides
      group by org_id, digest having not bool_or(is_wanted)
    ) unwanted
    where s.org_id = unwanted.org_id and s.digest = unwanted.digest and s.status <> 'deleting'`.execute(db);
  return Number(numAffectedRows ?? 0);
}

export type LayerToStore = StoredLayerRow & {
  /** Of hosts in reach that have it. */
  readonly addresses: readonly string[];
};

/** Those that are due and that a host in reach has, the longest due first. */
export async function layersToStore(db: Queries, limit: number): Promise<LayerToStore[]> {
  const isDue = sql`status = 'storing' and ${isTurn}`;
  const { rows } = await sql<LayerToStore>`
    select s.*, found.addresses from (
      select org_id, digest, min(due_at) as due_at, array_agg(distinct address) filter (where address is not null) as addresses
      from (
        select org_id, digest, due_at, null as address from stored_layers where ${isDue}
        union all
        select org_id, digest, null, hosts.address
        from ${ofReadyTemplates} join template_hosts h using (template_id) join hosts on hosts.id = h.host_id
        where hosts.status <> 'offline' and hosts.removed_at is null and exists (select from stored_layers where ${isDue})
      ) both_sides
      group by org_id, digest having count(due_at) > 0 and count(address) > 0 order by 3 limit ${limit}
    ) found
    join stored_layers s on s.org_id = found.org_id and s.digest = found.digest and s.status = 'storing'
    order by found.due_at`.execute(db);
  return rows;
}

/** The key stays the same for all attempts: what an earlier one has put there opens with it. Undefined where it is not wanted any more. */
export async function setKey(db: Queries, id: string, sealed: Buffer): Promise<void> {
  await sql`update stored_layers set sealed_key = ${sealed} where id = ${id} and status = 'storing'`.execute(
    db,
  );
}

/** Before they are handed out, so that each object that may be there is named by a row. False where it is not wanted any more. */
export async function noteUrls(
  db: Queries,
  { id, urls, seconds }: { readonly id: string; readonly urls: number; readonly seconds: number },
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update stored_layers set urls = greatest(urls, ${urls}), urls_until = now() + ${seconds} * interval '1 second'
    where id = ${id} and status = 'storing'`.execute(db);
  return numAffectedRows === 1n;
}

/** All of it is there. What was damaged gives way to it. */
export async function finishStoring(db: Database, id: string, pieces: number): Promise<void> {
  await sql`
    with stored as (
      update stored_layers set status = 'ready', pieces = ${pieces}, attempts = 0
      where id = ${id} and status = 'storing' returning org_id, digest
    )
    update stored_layers older set status = 'deleting', sealed_key = null, due_at = now() from stored
    where older.org_id = stored.org_id and older.digest = stored.digest and older.status = 'ready' and older.id <> ${id}`.execute(
    db,
  );
}

/** After an attempt that failed: the next one comes after 1, 2, 4 … 300 s. */
export async function postponeLayer(db: Queries, id: string): Promise<void> {
  await sql`
    update stored_layers set attempts = attempts + 1, due_at = now() + ${backoff(sql`attempts`, RETRY_MAX_S)}
    where id = ${id}`.execute(db);
}

/** Those whose URLs are not good any more: a host that was slow puts nothing there after it. */
export async function layersToDelete(db: Queries, limit: number): Promise<StoredLayerRow[]> {
  const { rows } = await sql<StoredLayerRow>`
    select * from stored_layers where status = 'deleting' and ${isTurn} and not ${isAhead("urls_until", STORE_LAYER_WITHIN_MS)}
    order by due_at limit ${limit}`.execute(db);
  return rows;
}

/** Objects from this one on are gone. With the first one the row goes. */
export async function noteDeleted(db: Queries, id: string, left: number): Promise<void> {
  if (left === 0) await sql`delete from stored_layers where id = ${id} and status = 'deleting'`.execute(db);
  else
    await sql`update stored_layers set urls = ${left} where id = ${id} and status = 'deleting'`.execute(db);
}

/** Of these layers, what is ready: of each the one that was not seen to be damaged, if there is one. */
export async function readyLayers(
  db: Queries,
  orgId: string,
  digests: readonly string[],
): Promise<StoredLayerRow[]> {
  const { rows } = await sql<StoredLayerRow>`
    select distinct on (digest) * from stored_layers
    where org_id = ${orgId} and digest = any(${digests}::text[]) and status = 'ready' and sealed_key is not null
    order by digest, damage is not null, created_at desc`.execute(db);
  return rows;
}

/** It is stored once more by a host that has it, and stays until then: a store that was wrong once may be right again. */
export async function noteDamage(db: Queries, id: string, damage: string): Promise<void> {
  await sql`update stored_layers set damage = ${damage} where id = ${id} and status = 'ready'`.execute(db);
}
