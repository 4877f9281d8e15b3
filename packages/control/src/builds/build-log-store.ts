// Lines of builds' logs, numbered from 1.

import { sql } from "kysely";
import type { Queries } from "../db/database.ts";

/** What is kept of the log of a build, in bytes, with what its rows take. */
export const LOG_MAX_BYTES = 8 * 1024 * 1024;
/** What a row takes beside its text, in its table and in its index, about. Without it a log of empty lines would be millions of rows. */
const ROW_BYTES = 100;

/** Of the logs of all builds of an organization that have ended, in the same bytes: thousands of builds may be kept. */
export const LOGS_MAX_BYTES = 256 * 1024 * 1024;
/** Builds whose logs are removed in one statement: each log has up to 84,000 lines. */
export const SWEPT_AT_ONCE = 8;

export interface LogRow {
  readonly line: number;
  readonly step: number | null;
  readonly at: Date;
  readonly text: string;
}

export interface NewLines {
  readonly buildId: string;
  readonly step: number | null;
  readonly texts: readonly string[];
  /** Of the step's output: how much of it is in the log with these lines. */
  readonly position?: number;
}

/**
 * In one transaction, so that no line is written twice where a replica dies. What is more than is kept is dropped, with one line that says so.
 * True: the log is full, and takes no further line.
 */
export async function appendLines(
  db: Queries,
  { buildId, step, texts, position }: NewLines,
): Promise<boolean> {
  const { rows } = await sql<{ is_full: boolean }>`
    with log as (
      select log_lines, log_bytes, log_bytes >= ${LOG_MAX_BYTES} as is_full from builds where id = ${buildId} for update
    ), new as (
      select text, ordinality as place, sum(octet_length(text) + ${ROW_BYTES}) over (order by ordinality) as upto
      from unnest(${texts}::text[]) with ordinality as t (text, ordinality)
    ), kept as (
      select new.* from new, log where not is_full and log_bytes + upto <= ${LOG_MAX_BYTES}
    ), written as (
      insert into build_log (build_id, line, step, text)
      select ${buildId}, log_lines + place, ${step}::integer, text from kept, log
      union all
      select ${buildId}, log_lines + (select count(*) from kept) + 1, ${step}::integer, 'The log is cut off here: it is too long.'
      from log where not is_full and (select count(*) from kept) < (select count(*) from new)
      returning line, octet_length(text) + ${ROW_BYTES} as bytes
    ), moved as (
      update build_steps set position = ${position ?? null}
      where build_id = ${buildId} and index = ${step} and ${position ?? null}::bigint is not null
    )
    update builds set
      log_lines = log_lines + (select count(*) from written),
      log_bytes = case
        when (select count(*) from kept) < (select count(*) from new) then ${LOG_MAX_BYTES}
        else log_bytes + (select coalesce(sum(bytes), 0) from written) end
    where id = ${buildId}
    returning log_bytes >= ${LOG_MAX_BYTES} as is_full`.execute(db);
  return rows[0]?.is_full ?? true;
}

export async function readLines(
  db: Queries,
  buildId: string,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<LogRow[]> {
  const { rows } = await sql<LogRow>`
    select line::float8 as line, step, at, text from build_log
    where build_id = ${buildId} and line > ${after} order by line limit ${limit}`.execute(db);
  return rows;
}

export async function lastLines(
  db: Queries,
  buildId: string,
  step: number,
  limit: number,
): Promise<string[]> {
  const { rows } = await sql<{ text: string }>`
    select text from build_log where build_id = ${buildId} and step = ${step} order by line desc limit ${limit}`.execute(
    db,
  );
  return rows.map(({ text }) => text).toReversed();
}

/** The last line of the step that matches; undefined where there is none, or where the log is full, so that a
 *  later one may be missing. */
export async function lastLineLike(
  db: Queries,
  { buildId, step, pattern }: { readonly buildId: string; readonly step: number; readonly pattern: string },
): Promise<string | undefined> {
  const { rows } = await sql<{ text: string }>`
    select text from build_log join builds on builds.id = build_id
    where build_id = ${buildId} and step = ${step} and text ~ ${pattern} and log_bytes < ${LOG_MAX_BYTES}
    order by line desc limit 1`.execute(db);
  return rows[0]?.text;
}

/** Of the builds of an organization, the logs of those that ended longest ago, while all together are too large; a line says so. Returns how many, at
 *  most `limit`. */
export async function sweepBuildLogs(db: Queries, limit: number): Promise<number> {
  const { rows } = await sql<{ id: string }>`
    select id from (
      select id, finished_at, sum(log_bytes) over (partition by org_id order by finished_at desc, id desc) as upto
      from builds where finished_at is not null and log_bytes > 0
    ) ended
    where upto > ${LOGS_MAX_BYTES} order by finished_at limit ${limit}`.execute(db);
  for (let from = 0; from < rows.length; from += SWEPT_AT_ONCE)
    await removeLogs(
      db,
      rows.slice(from, from + SWEPT_AT_ONCE).map(({ id }) => id),
    );
  return rows.length;
}

async function removeLogs(db: Queries, ids: readonly string[]): Promise<void> {
  await sql`
    with emptied as (
      update builds set log_lines = log_lines + 1, log_bytes = 0
      where id = any(${ids}::text[]) and finished_at is not null and log_bytes > 0
      returning id, log_lines
    ), removed as (
      delete from build_log using emptied where build_id = id and line < log_lines
    )
    insert into build_log (build_id, line, step, text)
    select id, log_lines, null, 'The log was removed: those of later builds take all the room that logs have.'
    from emptied`.execute(db);
}
