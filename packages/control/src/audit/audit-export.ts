// The audit log as one long text, piece by piece, as fast as its reader takes it: nothing holds more of it than a piece.

import type { AuditEvent, AuditExportQuery } from "@skerry/contract/audit/audit-event";
import type { AuditFormat } from "@skerry/contract/audit/audit-formats";
import type { Context } from "../context.ts";
import { auditEventOf, auditFilterOf } from "./audit-log.ts";
import { listAuditEvents } from "./audit-store.ts";
import { CSV_HEADER, csvLine } from "./audit-csv.ts";
import { withNames } from "./resource-names.ts";
import type { AuditRow } from "./insert-audit-events.ts";

/** Events of one piece. */
const PIECE = 500;

const lineOf: Readonly<Record<AuditFormat, (event: AuditEvent) => string>> = {
  ndjson: (event) => `${printableJson(event)}\n`,
  csv: csvLine,
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
  const linesOf = async (rows: readonly AuditRow[]) => {
    const events = await withNames(context.db, orgId, rows.map(auditEventOf));
    return events.map(lineOf[format]).join("");
  };
  const header = format === "csv" ? CSV_HEADER : "";
  return pieces(header, await read(), { read, linesOf });
}

async function* pieces(
  header: string,
  first: AuditRow[],
  {
    read,
    linesOf,
  }: {
    readonly read: (before: string) => Promise<AuditRow[]>;
    readonly linesOf: (rows: readonly AuditRow[]) => Promise<string>;
  },
): AsyncGenerator<string, void> {
  if (header !== "") yield header;
  let rows = first;
  for (;;) {
    const last = rows.at(-1);
    if (last === undefined) return;
    yield await linesOf(rows);
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
