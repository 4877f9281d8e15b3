// Changes of rows, in the order of the transactions that made them. A transaction that is still open holds back what comes after it, because it
// may have an older place.

import { sql, type RawBuilder } from "kysely";
import { idKinds } from "@skerry/contract/ids";
import type { Database } from "../db/database.ts";
import type { EventCursor, Position, Present } from "./event-cursor.ts";
import type { EventSource } from "./event-sources.ts";

/** Only its last change: a row says nothing of those before. */
export interface ChangedRow extends Position {
  readonly source: EventSource;
  readonly id: string;
  readonly version: number;
}

export interface Changes extends Present {
  /** Where all changes are older that were read. */
  readonly horizon: Position;
  readonly rows: readonly ChangedRow[];
}

interface ChangedTable {
  readonly table: string;
  readonly isOfOrganization: boolean;
  /** Where they are not `id` and `version`. */
  readonly columns?: RawBuilder<unknown>;
  readonly isShown?: RawBuilder<boolean>;
}

const tables: Readonly<Record<EventSource, ChangedTable>> = {
  sandbox: { table: "sandboxes", isOfOrganization: true },
  machine: { table: "machines", isOfOrganization: true },
  sandboxSnapshot: { table: "snapshots", isOfOrganization: true, isShown: isSnapshotOf("sandbox") },
  machineSnapshot: { table: "snapshots", isOfOrganization: true, isShown: isSnapshotOf("machine") },
  template: { table: "templates", isOfOrganization: true },
  build: { table: "builds", isOfOrganization: true },
  app: { table: "app_changes", isOfOrganization: true },
  deploy: { table: "deploys", isOfOrganization: true },
  host: { table: "hosts", isOfOrganization: false },
  move: { table: "moves", isOfOrganization: false },
  backgroundService: {
    table: "leases",
    isOfOrganization: false,
    columns: sql`name as id, token::integer as version`,
  },
};

function isSnapshotOf(noun: "sandbox" | "machine"): RawBuilder<boolean> {
  return sql`not is_internal and split_part(vm_id, '_', 1) = ${idKinds[noun]}`;
}

const horizon = sql`pg_snapshot_xmin(pg_current_snapshot())`;

interface ChangesWanted {
  readonly orgId: string;
  readonly after: EventCursor;
  readonly limit: number;
  /** A horizon of before, for one who wants none that are newer. */
  readonly upTo: string | undefined;
}

/** The first changes after the cursor. */
export async function readChanges(
  db: Database,
  sources: readonly EventSource[],
  wanted: ChangesWanted,
): Promise<Changes> {
  const { after, limit, upTo } = wanted;
  const changed = sources.map((source) => changesOf(source, wanted));
  const { rows } = await sql<PresentRow & { [Column in keyof ChangedRow]: ChangedRow[Column] | null }>`
    select present.*, ${horizon} < ${after.xid}::xid8 as is_ahead, changes.*
    from (${present}) as present left join (
      select * from (${sql.join(changed, sql` union all `)}) as of_sources order by xid, seq limit ${limit}
    ) as changes on true
    order by changes.xid, changes.seq`.execute(db);
  const [first] = rows;
  if (first === undefined) throw new Error("the database told nothing of itself");
  return {
    database: first.database,
    now: first.now,
    isAhead: first.is_ahead === true,
    horizon: { xid: upTo ?? first.horizon, seq: "0" },
    // The columns of a change are null together, where there is none.
    rows: rows.filter((row): row is PresentRow & ChangedRow => row.id !== null),
  };
}

/** The end of what can be read now. */
export async function latestCursor(db: Database): Promise<EventCursor> {
  const { rows } = await sql<PresentRow>`${present}`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error("the database told nothing of itself");
  return { database: row.database, xid: row.horizon, seq: "0", at: row.now };
}

interface PresentRow {
  readonly database: string;
  readonly now: Date;
  readonly horizon: string;
  readonly is_ahead?: boolean;
}

/** The system's identifier is another one after a dump was restored, and the timeline after a recovery to a point in time. */
const present = sql`
  select left(md5(system_identifier || ':' || timeline_id), 8) as database, now() as now, ${horizon} as horizon
  from pg_control_system(), pg_control_checkpoint()`;

function changesOf(source: EventSource, { orgId, after, limit, upTo }: ChangesWanted): RawBuilder<unknown> {
  const { table, isOfOrganization, isShown, columns = sql`id, version` } = tables[source];
  return sql`(
    select ${source} as source, ${columns}, changed_in as xid, changed_seq as seq from ${sql.table(table)}
    where ${isOfOrganization ? sql`org_id = ${orgId} and` : sql``} ${isShown === undefined ? sql`` : sql`${isShown} and`}
      (changed_in, changed_seq) > (${after.xid}::xid8, ${after.seq}::bigint)
      and changed_in < ${upTo === undefined ? horizon : sql`${upTo}::xid8`}
    order by changed_in, changed_seq limit ${limit}
  )`;
}

/** How far one could read, and when that was. */
export interface Horizon {
  readonly xid: string;
  readonly at: Date;
}

/** A reader who waits for a change of these sources. */
export interface Waiting {
  readonly orgId: string;
  readonly sources: readonly EventSource[];
  readonly xid: string;
}

/** Which of these have one to read, by their places in the list, and the horizon up to which they were looked for. One query, however many there are. */
export async function whichHaveChanges(
  db: Database,
  waiting: readonly Waiting[],
): Promise<{ readonly places: readonly number[]; readonly horizon: Horizon }> {
  const conditions = Object.entries(tables).map(
    ([source, { table, isOfOrganization }]) => sql`
      ${source} = any(string_to_array(w.sources, ',')) and exists (
        select from ${sql.table(table)} t
        where ${isOfOrganization ? sql`t.org_id = w.org_id and` : sql``} t.changed_in >= w.xid and t.changed_in < ${horizon}
      )`,
  );
  const { rows } = await sql<{ place: number | null; xid: string; at: Date }>`
    select (w.place - 1)::integer as place, present.xid, present.at
    from (select ${horizon} as xid, now() as at) as present left join unnest(
      ${waiting.map(({ orgId }) => orgId)}::text[], ${waiting.map(({ sources }) => sources.join())}::text[],
      ${waiting.map(({ xid }) => xid)}::xid8[]
    ) with ordinality as w (org_id, sources, xid, place)
    on ${sql.join(conditions, sql` or `)}`.execute(db);
  const [first] = rows;
  if (first === undefined) throw new Error("the database told nothing of itself");
  return { places: rows.flatMap(({ place }) => place ?? []), horizon: { xid: first.xid, at: first.at } };
}
