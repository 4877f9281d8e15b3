// Events of the audit log, and the statements that write them: by themselves, or as a part of the statement that they are about.

import { sql, type RawBuilder, type Selectable } from "kysely";
import type { Database, Queries, Tables } from "../db/database.ts";
import { prepared } from "../db/prepared.ts";
import { asyncCommit } from "../db/async-commit.ts";

export type AuditRow = Selectable<Tables["audit_events"]>;
/** Of something that happened once. */
export type NewAuditEvent = Omit<AuditRow, "at" | "count">;

export async function insertAuditEvents(
  db: Queries,
  events: readonly (NewAuditEvent & Partial<Pick<AuditRow, "count">>)[],
): Promise<void> {
  if (events.length > 0) await db.insertInto("audit_events").values(events).execute();
}

/** The event of something that has happened already and is answered now: a crash of PostgreSQL within the next second may take it. */
export async function insertAuditEventAfterwards(db: Database, event: NewAuditEvent): Promise<void> {
  await sql`${auditEventFrom(asyncCommit, event)} ${prepared}`.execute(db);
}

/** For a statement that does more: writes the event once for each row of `source`. */
export function auditEventFrom(source: RawBuilder<unknown>, event: NewAuditEvent): RawBuilder<unknown> {
  const columns = Object.keys(event) as (keyof NewAuditEvent)[];
  const values = columns.map((column) => sql`${event[column]}::text`);
  return sql`
    insert into audit_events (${sql.join(columns.map((column) => sql.ref(column)))})
    select ${sql.join(values)} from ${source}`;
}
