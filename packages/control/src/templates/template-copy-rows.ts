// Copies of templates on their way to hosts that lack them. A row is there as long as the host may have something of the template and is not known to
// have all of it: what is written in `template_hosts` is whole.

import { sql, type RawBuilder, type Selectable } from "kysely";
import { backoff } from "../db/backoff.ts";
import { isAhead } from "../db/clock-set-back.ts";
import type { Queries, Tables } from "../db/database.ts";

export type CopyRow = Selectable<Tables["template_copies"]>;
type Copy = Pick<CopyRow, "template_id" | "host_id">;

const RETRY_MAX_S = 30;
/** A host on which it failed is not chosen again for so long. */
const FAILED_FOR_S = 300;

/** It has failed so short a time ago that its host is not chosen again. */
function keepsAway(table: string): RawBuilder<boolean> {
  const status = sql.ref(`${table}.status`);
  return sql<boolean>`(${status} = 'failed' and ${isAhead(`${table}.due_at`, FAILED_FOR_S * 1_000)})`;
}

/** Names a copy among those of a service. */
export function keyOf({ template_id, host_id }: Copy): string {
  return `${template_id} ${host_id}`;
}

/** Nothing changes where it is on its way there already, beside the sizes, or has failed a short time ago. */
export async function insertCopy(
  db: Queries,
  { template_id, host_id, sizes, ticket }: Pick<CopyRow, "template_id" | "host_id" | "sizes" | "ticket">,
): Promise<void> {
  await sql`
    insert into template_copies (template_id, host_id, status, sizes, ticket)
    values (${template_id}, ${host_id}, 'copying', ${sizes}::text[], ${ticket})
    on conflict (template_id, host_id) do update set
      sizes = (select coalesce(array_agg(distinct size), '{}') from unnest(template_copies.sizes || excluded.sizes) size),
      ticket = case when template_copies.status = 'failed' then excluded.ticket else template_copies.ticket end,
      attempts = case when template_copies.status = 'failed' then 0 else template_copies.attempts end,
      status = 'copying'
    where template_copies.status = 'copying' or not ${keepsAway("template_copies")}`.execute(db);
}

export interface CopyState {
  readonly host_id: string;
  readonly status: CopyRow["status"];
  readonly reason: string | null;
}

/** Those under way, and those that have failed a short time ago. */
export async function copiesOf(db: Queries, templateId: string): Promise<CopyState[]> {
  const { rows } = await sql<CopyState>`
    select host_id, status, reason from template_copies
    where template_id = ${templateId} and (status = 'copying' or ${keepsAway("template_copies")}) order by host_id`.execute(
    db,
  );
  return rows;
}

/** Hosts that can send it, those first that take VMs. */
export async function sendersOf(db: Queries, templateId: string): Promise<string[]> {
  const { rows } = await sql<{ host_id: string }>`
    select host_id from template_hosts join hosts on hosts.id = host_id
    where template_id = ${templateId} and removed_at is null and status <> 'offline'
    order by status <> 'online', random()`.execute(db);
  return rows.map(({ host_id }) => host_id);
}

export type DueCopy = CopyRow & { readonly org_id: string };

/**
 * Those that are due, and that are not in hand yet. Those of organizations that have the fewest in hand come first, and of each organization in turn
 * the one that waits longest.
 */
export async function dueCopies(db: Queries, inHand: readonly string[], limit: number): Promise<DueCopy[]> {
  const isInHand = sql`c.template_id || ' ' || c.host_id = any(${inHand}::text[])`;
  const { rows } = await sql<DueCopy>`
    with held as (
      select org_id, count(*) as copies from template_copies c join templates t on t.id = c.template_id
      where ${isInHand} group by org_id
    )
    select c.*, t.org_id from template_copies c
    join templates t on t.id = c.template_id join hosts on hosts.id = c.host_id left join held using (org_id)
    where c.status = 'copying' and not ${isAhead("c.due_at", RETRY_MAX_S * 1_000)} and hosts.status <> 'offline' and not ${isInHand}
    order by coalesce(held.copies, 0) + row_number() over (partition by t.org_id order by c.due_at), c.due_at
    limit ${Math.max(0, limit)}`.execute(db);
  return rows;
}

/** Keys of those that should not go on: their template was deleted, or their host is lost. */
export async function unwantedCopies(db: Queries): Promise<string[]> {
  const { rows } = await sql<Copy>`
    select c.template_id, c.host_id from template_copies c
    join templates t on t.id = c.template_id join hosts on hosts.id = c.host_id
    where c.status = 'copying' and (t.status <> 'ready' or hosts.status = 'offline' or hosts.removed_at is not null)`.execute(
    db,
  );
  return rows.map(keyOf);
}

/** From now on VMs of it can be there. False where it is not wanted there any more. */
export async function finishCopy(transaction: Queries, copy: CopyRow): Promise<boolean> {
  // A deletion waits for it, and then finds it there.
  const { rows } =
    await sql`select 1 from templates where id = ${copy.template_id} and status = 'ready' for share`.execute(
      transaction,
    );
  if (rows.length === 0) return false;
  const { numAffectedRows } = await sql`
    delete from template_copies
    where template_id = ${copy.template_id} and host_id = ${copy.host_id} and status = 'copying' and ticket = ${copy.ticket}`.execute(
    transaction,
  );
  if (numAffectedRows !== 1n) return false;
  await sql`
    insert into template_hosts (template_id, host_id, sizes) values (${copy.template_id}, ${copy.host_id}, ${copy.sizes}::text[])
    on conflict do nothing`.execute(transaction);
  return true;
}

/** After an attempt that failed: the next one comes after 1, 2, 4 … 30 s. */
export async function postponeCopy(
  db: Queries,
  { template_id, host_id }: Copy,
  reason: string,
): Promise<void> {
  await sql`
    update template_copies set
      attempts = attempts + 1, due_at = now() + ${backoff(sql`attempts`, RETRY_MAX_S)}, reason = ${reason}
    where template_id = ${template_id} and host_id = ${host_id} and status = 'copying'`.execute(db);
}

/** The host has nothing of it. */
export async function failCopy(db: Queries, { template_id, host_id }: Copy, reason: string): Promise<void> {
  await sql`
    update template_copies set
      status = 'failed', due_at = now() + ${FAILED_FOR_S} * interval '1 second', reason = ${reason}
    where template_id = ${template_id} and host_id = ${host_id} and status = 'copying'`.execute(db);
}

export async function dropCopy(db: Queries, { template_id, host_id }: Copy): Promise<void> {
  await sql`delete from template_copies where template_id = ${template_id} and host_id = ${host_id}`.execute(
    db,
  );
}

/** Forgets failures that keep no host from being chosen any more. */
export async function sweepFailedCopies(db: Queries): Promise<void> {
  await sql`delete from template_copies where status = 'failed' and not ${keepsAway("template_copies")}`.execute(
    db,
  );
}

/** Templates that hosts have which are drained, and that are neither on a host that takes VMs nor on their way to one. In no order, so that those which
 *  can go nowhere keep no others waiting. */
export async function leavingTemplates(db: Queries, limit: number): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select t.id from templates t
    where t.status = 'ready' and exists (
      select 1 from template_hosts h join hosts on hosts.id = h.host_id
      where h.template_id = t.id and hosts.removed_at is null and hosts.status in ('draining', 'maintenance')
    ) and not exists (
      select 1 from template_hosts h join hosts on hosts.id = h.host_id
      where h.template_id = t.id and hosts.removed_at is null and hosts.status = 'online' and hosts.desired = 'active'
    ) and not exists (
      select 1 from template_copies c join hosts on hosts.id = c.host_id
      where c.template_id = t.id and c.status = 'copying' and hosts.status = 'online' and hosts.desired = 'active'
    )
    order by random() limit ${limit}`.execute(db);
  return rows.map(({ id }) => id);
}
