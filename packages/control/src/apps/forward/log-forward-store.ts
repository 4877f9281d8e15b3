// Rows of receivers of logs, and of how far the log of each instance was sent.

import { sql, type Selectable } from "kysely";
import type { Queries, Tables } from "../../db/database.ts";

export type ForwardRow = Selectable<Tables["log_forwards"]>;

/** Id of the receiver of all apps. */
export const PLATFORM = "platform";

export type ForwardTarget = Pick<ForwardRow, "url" | "header_name" | "header_secret">;

export async function forwardsOf(db: Queries, appIds: readonly string[]): Promise<ForwardRow[]> {
  const { rows } = await sql<ForwardRow>`select * from log_forwards where app_id = any(${appIds})`.execute(
    db,
  );
  return rows;
}

/** A receiver in the place of another one gets what that has not taken. */
export async function setForward(db: Queries, appId: string, target: ForwardTarget): Promise<void> {
  const { url, header_name: name, header_secret: secret } = target;
  await sql`
    insert into log_forwards (id, app_id, url, header_name, header_secret)
    values (${appId}, ${appId}, ${url}, ${name}, ${secret})
    on conflict (id) do update set url = excluded.url, header_name = excluded.header_name,
      header_secret = excluded.header_secret, fault = null, fault_since = null`.execute(db);
}

export async function removeForward(db: Queries, id: string): Promise<void> {
  await sql`delete from log_forwards where id = ${id}`.execute(db);
}

/** Has the receiver of all apps be this one, or none. */
export async function setPlatformForward(db: Queries, url: string | undefined): Promise<void> {
  if (url === undefined) return removeForward(db, PLATFORM);
  await sql`
    insert into log_forwards (id, url) values (${PLATFORM}, ${url})
    on conflict (id) do update set url = excluded.url where log_forwards.url <> excluded.url`.execute(db);
}

/** Since when it fails stays as it is. */
export async function noteFault(db: Queries, id: string, fault: string | undefined): Promise<void> {
  await sql`
    update log_forwards set fault = ${fault ?? null},
      fault_since = case when ${fault ?? null}::text is not null then coalesce(fault_since, now()) end
    where id = ${id} and fault is distinct from ${fault ?? null}`.execute(db);
}

export interface ForwardJob extends Pick<ForwardRow, "id" | "created_at" | "fault"> {
  readonly target: ForwardTarget;
  readonly app_id: string;
  readonly app_name: string;
  readonly org_id: string;
}

/** Receivers with each app of which there may be lines to send. */
export async function forwardJobs(db: Queries): Promise<ForwardJob[]> {
  const { rows } = await sql<Omit<ForwardJob, "target"> & ForwardTarget>`
    select f.id, f.created_at, f.fault, f.url, f.header_name, f.header_secret,
      a.id as app_id, a.name as app_name, a.org_id
    from log_forwards f join apps a on f.app_id = a.id or f.app_id is null
    where exists (select from app_instances i where i.app_id = a.id)
      or exists (
        select from ended_instances e
        where e.app_id = a.id and e.ended_at >= f.created_at and not exists (
          select from log_cursors c where c.forward_id = f.id and c.machine_id = e.machine_id and c.is_done))
    order by f.id, a.id`.execute(db);
  return rows.map(({ url, header_name, header_secret, ...job }) => ({
    ...job,
    target: { url, header_name, header_secret },
  }));
}

export interface LogCursorRow {
  readonly machine_id: string;
  readonly place: string;
  readonly is_done: boolean;
}

export async function cursorsOf(
  db: Queries,
  { id, app_id: appId }: Pick<ForwardJob, "id" | "app_id">,
): Promise<ReadonlyMap<string, LogCursorRow>> {
  const { rows } = await sql<LogCursorRow>`
    select machine_id, place, is_done from log_cursors
    where forward_id = ${id} and app_id = ${appId}`.execute(db);
  return new Map(rows.map((row) => [row.machine_id, row]));
}

/** Nothing is written for a receiver or an app that has gone meanwhile, or for one that others have now. */
export async function saveCursors(
  db: Queries,
  { id, app_id: appId }: Pick<ForwardJob, "id" | "app_id">,
  cursors: readonly LogCursorRow[],
): Promise<void> {
  if (cursors.length === 0) return;
  await sql`
    insert into log_cursors (forward_id, app_id, machine_id, place, is_done)
    select f.id, a.id, c.machine_id, c.place, c.is_done
    from log_forwards f, apps a, jsonb_to_recordset(${JSON.stringify(cursors)}::jsonb)
      as c (machine_id text, place text, is_done boolean)
    where f.id = ${id} and a.id = ${appId}
    on conflict (forward_id, machine_id) do update set place = excluded.place, is_done = excluded.is_done`.execute(
    db,
  );
}

/** Those of instances whose logs are kept no more. Resolves with their number. */
export async function forgetCursors(db: Queries): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from log_cursors c where not exists (select from app_instances i where i.machine_id = c.machine_id)
      and not exists (select from ended_instances e where e.machine_id = c.machine_id)`.execute(db);
  return Number(numAffectedRows);
}
