// Cursors of `/v1/events`: how far a reader has come, in which database, and when that was.

import { SkerryError } from "@skerry/contract/errors";
import { EVENT_CURSOR_MAX_AGE_MS } from "@skerry/contract/bounds";
import type { EventReset } from "@skerry/contract/events/event-schemas";

/** Everything up to this change was read. Both are too large for a number of JavaScript's. */
export interface Position {
  readonly xid: string;
  readonly seq: string;
}

export interface EventCursor extends Position {
  /** Tells a database from what it is after it was restored from a backup. */
  readonly database: string;
  /** By the clock of the database. */
  readonly at: Date;
}

/** What the database is when the cursor is used. */
export interface Present {
  readonly database: string;
  readonly now: Date;
  /** The transaction of the cursor is still to come. */
  readonly isAhead: boolean;
}

const SHAPE = /^([0-9a-f]{8})\.(\d{1,19})\.(\d{1,18})\.(\d{1,11})$/;

export function formatCursor({ database, xid, seq, at }: EventCursor): string {
  return `${database}.${xid}.${seq}.${Math.floor(at.getTime() / 1_000)}`;
}

/** Throws `bad_request`. */
export function parseCursor(text: string): EventCursor {
  const [, database, xid, seq, seconds] = SHAPE.exec(text) ?? [];
  if (database === undefined || xid === undefined || seq === undefined) {
    throw new SkerryError("bad_request", `"after" is no cursor of this stream.`, {
      remediation: "Send a `cursor` of an answer, or the `id` of an event, as it is; or `latest`.",
      context: { field: "after" },
    });
  }
  return { database, xid, seq, at: new Date(Number(seconds) * 1_000) };
}

/** Why a reader with this cursor has to begin anew; undefined where it can go on. */
export function whyReset(
  cursor: EventCursor,
  { database, now, isAhead }: Present,
): EventReset["reason"] | undefined {
  if (cursor.database !== database || isAhead) return "other_database";
  return now.getTime() - cursor.at.getTime() > EVENT_CURSOR_MAX_AGE_MS ? "too_old" : undefined;
}
