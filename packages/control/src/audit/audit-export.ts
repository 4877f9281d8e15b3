// The audit log as one long text, piece by piece, as fast as its reader takes it: nothing holds more of it than a piece.

import type { AuditExportQuery } from "@skerry/contract/audit/audit-event";
import type { AuditFormat } from "@skerry/contract/audit/audit-formats";
import type { Context } from "../context.ts";
import { auditEventOf, auditFilterOf } from "./audit-log.ts";
import { listAuditEvents } from "./audit-store.ts";
import { CSV_HEADER, csvLine } from "./audit-csv.ts";
import type { AuditRow } from "./insert-audit-events.ts";

/** Events of one piece. */
const PIECE = 500;

const lineOf: Readonly<Record<AuditFormat, (row: AuditRow) => string>> = {
  ndjson: (row) => `${printableJson(auditEventOf(row))}\n`,
  csv: (row) => csvLine(auditEventOf(row)),
};

/** Newest first, as of its beginning. Throws before there is anything of it where the query is wrong or the database away. */
export async function exportAuditLog(
  context: Context,
  orgId: string,
  { format = "ndjson", ...query }: AuditExportQuery,
): Promise<AsyncGenerator<string, void>> {
  const filter = { ...auditFilterOf(query), orgId, limit: PIECE };
  const read = (before?: string) =>
    listAuditEvents(context.db, before === undefined ? filter : { ...filter, before });
  return pieces(format, await read(), read);
}

async function* pieces(
  format: AuditFormat,
  first: AuditRow[],
  read: (before: string) => Promise<AuditRow[]>,
): AsyncGenerator<string, void> {
  if (format === "csv") yield CSV_HEADER;
  let rows = first;
  for (;;) {
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows.map(lineOf[format]).join("");
    if (rows.length < PIECE) return;
    rows = await read(last.id);
  }
}

/** JSON leaves alone what a terminal obeys beyond ASCII. */
function printableJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu,
    (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`,
  );
}
