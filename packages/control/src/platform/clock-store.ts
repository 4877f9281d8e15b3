// Rows of eras of the database's clock, and the deadlines that a step of the clock shifts.

import { sql, type RawBuilder } from "kysely";
import { CLAIM_MS } from "../db/claims.ts";
import { SET_BACK } from "../db/clock-set-back.ts";
import type { Database, Queries } from "../db/database.ts";

/** How far the clock may be from where it is expected, and how old a look of another replica may be that
 *  counts. */
export const STEP_MIN_MS = 60_000;
/** Longer than the pauses between looks, and shorter than a claim: until a step is found, no claim of a
 *  replica that lives seems to have lapsed. */
const VOUCHED_MS = 10_000;
/** An operator's clock is set a few times. One that is set without end must not fill a table. */
const ERAS_MAX = 100;

const vouchedUntil = sql`now() + ${sql.lit(VOUCHED_MS)} * interval '1 millisecond'`;
const nowMs = sql`(extract(epoch from now()) * 1000)::float8`;
const isNewest = sql`number = (select max(number) from clock_eras)`;

/** Vouches for the clock where it is about where this replica expects it, in the era that it knows. Returns
 *  the clock; undefined where either is not so. */
export async function vouch(
  db: Database,
  { era, expectedMs }: { readonly era: number; readonly expectedMs: number },
): Promise<number | undefined> {
  const { rows } = await sql<{ now_ms: number }>`
    update clock_eras set vouched_until = ${vouchedUntil}
    where number = ${era} and ${isNewest} and abs(${nowMs} - ${expectedMs}::float8) <= ${STEP_MIN_MS}
    returning ${nowMs} as now_ms`.execute(db);
  return rows[0]?.now_ms;
}

/** Until the transaction ends no other replica looks. */
export async function lockEras(transaction: Queries): Promise<void> {
  await sql`lock table clock_eras in share row exclusive mode`.execute(transaction);
}

export interface ClockFact {
  readonly now_ms: number;
  /** The newest era; null before control has first looked. */
  readonly era: number | null;
  /** When the clock was last vouched for. */
  readonly seen_ms: number | null;
  /** All steps since the era that was asked about. */
  readonly explained_ms: number;
}

export async function readClock(transaction: Queries, sinceEra: number | undefined): Promise<ClockFact> {
  const { rows } = await sql<ClockFact>`
    select ${nowMs} as now_ms, newest.number as era,
      (extract(epoch from newest.vouched_until) * 1000 - ${VOUCHED_MS}::float8)::float8 as seen_ms,
      (select coalesce(sum(stepped_ms), 0)::float8 from clock_eras where number > ${sinceEra ?? 0}) as explained_ms
    from (select 1) one left join clock_eras newest on ${isNewest}`.execute(transaction);
  const [fact] = rows;
  if (fact === undefined) throw new Error("the database has told no time");
  return fact;
}

export async function vouchForNewest(transaction: Queries): Promise<void> {
  await sql`update clock_eras set vouched_until = ${vouchedUntil} where ${isNewest}`.execute(transaction);
}

/** The clock was set by so much: another era begins. Returns its number. */
export async function beginEra(transaction: Queries, steppedMs: number): Promise<number> {
  const { rows } = await sql<{ number: number }>`
    insert into clock_eras (number, stepped_ms, vouched_until)
    select coalesce(max(number), 0) + 1, ${steppedMs}::bigint, ${vouchedUntil} from clock_eras returning number`.execute(
    transaction,
  );
  const number = rows[0]?.number;
  if (number === undefined) throw new Error("an era that was written is not there");
  await sql`delete from clock_eras where number <= ${number - ERAS_MAX}`.execute(transaction);
  return number;
}

export interface Deadline {
  readonly table: string;
  readonly column: string;
  /** When it was put, as far as the row tells. */
  readonly putAt: RawBuilder<unknown>;
  readonly where: RawBuilder<unknown>;
}

const claim = (table: string, where: RawBuilder<unknown>): Deadline => ({
  table,
  column: "claimed_until",
  putAt: sql`claimed_until - ${sql.lit(CLAIM_MS)} * interval '1 millisecond'`,
  where: sql`claimed_until is not null and ${where}`,
});

/** Times ahead at which something of a tenant ends. */
export const deadlines: readonly Deadline[] = [
  {
    table: "vms",
    column: "expires_at",
    putAt: sql`expires_at - timeout_ms * interval '1 millisecond'`,
    where: sql`status <> 'destroyed'`,
  },
  {
    table: "builds",
    column: "ends_by",
    putAt: sql`coalesce(started_at, created_at)`,
    where: sql`finished_at is null`,
  },
  { table: "deploys", column: "ends_by", putAt: sql`created_at`, where: sql`finished_at is null` },
  {
    table: "deploys",
    column: "watched_until",
    putAt: sql`finished_at`,
    where: sql`watched_until is not null`,
  },
  claim("vms", sql`status <> 'destroyed'`),
  claim("snapshots", sql`status <> 'deleted'`),
];

/**
 * As much time is left until each as there was before the clock was set. A deadline that was put within a
 * minute of the new time was put after the step. Where the row of a sandbox does not tell when that was,
 * because it was kept alive for another time than its own, and the deadline stays though it was put before,
 * its own time is left.
 */
export async function shiftDeadlines(transaction: Queries, steppedMs: number): Promise<void> {
  for (const { table, column, putAt, where } of deadlines)
    await sql`
      update ${sql.table(table)} set ${sql.ref(column)} = ${sql.ref(column)} + ${steppedMs}::float8 * interval '1 millisecond'
      where ${where} and not (${putAt} between now() - ${SET_BACK} and now() + ${SET_BACK})`.execute(
      transaction,
    );
}

export interface ClockSteps {
  readonly steps: number;
  readonly last_ms: number;
}

export async function clockSteps(db: Queries): Promise<ClockSteps> {
  const { rows } = await sql<ClockSteps>`
    select greatest(0, number - 1) as steps, stepped_ms::float8 as last_ms from clock_eras where ${isNewest}`.execute(
    db,
  );
  return rows[0] ?? { steps: 0, last_ms: 0 };
}
