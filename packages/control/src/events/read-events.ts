import type { EventReset } from "@skerry/contract/events/event-schemas";
import type { ResourceEvent } from "@skerry/contract/events/resource-event";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import { formatCursor, parseCursor, whyReset } from "./event-cursor.ts";
import { eventSources, type EventSource } from "./event-sources.ts";
import { latestCursor, readChanges, type ChangedRow, type Horizon } from "./event-store.ts";

export interface ReadParams {
  readonly orgId: string;
  readonly sources: readonly EventSource[];
  /** A cursor; undefined: `latest`. */
  readonly after: string | undefined;
  readonly limit: number;
  /** Nothing newer is read, so that readers who are equally far stay so. */
  readonly upTo?: Horizon | undefined;
}

/** As far as it is the same for all callers. */
export interface ReadEvent {
  /** After which one goes on that knows it. */
  readonly cursor: string;
  readonly shownTo: (caller: Caller) => ResourceEvent;
}

export interface EventsRead {
  readonly events: readonly ReadEvent[];
  readonly cursor: string;
  /** Of the cursor. */
  readonly xid: string;
  readonly now: Date;
  readonly more: boolean;
  readonly reset: EventReset["reason"] | null;
}

export async function readEvents(
  context: Context,
  { orgId, sources, after, limit, upTo }: ReadParams,
): Promise<EventsRead> {
  if (after === undefined) return atEnd(context, null);
  const cursor = parseCursor(after);
  // One who is farther than that would go back.
  const bound = upTo !== undefined && BigInt(upTo.xid) > BigInt(cursor.xid) ? upTo : undefined;
  const wanted = { orgId, after: cursor, limit: limit + 1, upTo: bound?.xid };
  const changes = await readChanges(context.db, sources, wanted);
  const reset = whyReset(cursor, changes);
  if (reset !== undefined) return atEnd(context, reset);
  const rows = changes.rows.slice(0, limit);
  const more = changes.rows.length > limit;
  const { database } = changes;
  const at = bound?.at ?? changes.now;
  const { xid, seq } = (more ? rows.at(-1) : undefined) ?? changes.horizon;
  const shown = await resourcesOf(context, orgId, rows);
  return {
    events: rows.map((row) => ({
      cursor: formatCursor({ database, xid: row.xid, seq: row.seq, at }),
      shownTo: (caller) => eventOf(row, shown.get(row.id), caller),
    })),
    cursor: formatCursor({ database, xid, seq, at }),
    xid,
    now: at,
    more,
    reset: null,
  };
}

async function atEnd({ db }: Context, reset: EventsRead["reset"]): Promise<EventsRead> {
  const latest = await latestCursor(db);
  return { events: [], cursor: formatCursor(latest), xid: latest.xid, now: latest.at, more: false, reset };
}

type Found = Awaited<ReturnType<(typeof eventSources)[EventSource]["find"]>>[number];

/** As they are now: what has changed once more by then is read again after this. */
async function resourcesOf(
  context: Context,
  orgId: string,
  rows: readonly ChangedRow[],
): Promise<ReadonlyMap<string, Found>> {
  const bySource = Map.groupBy(rows, ({ source }) => source);
  const found = await Promise.all(
    [...bySource].map(([source, rowsOfIt]) =>
      eventSources[source].find(
        context,
        orgId,
        rowsOfIt.map(({ id }) => id),
      ),
    ),
  );
  return new Map(found.flat().map((one) => [one.id, one]));
}

function eventOf(
  { source, id, version }: ChangedRow,
  found: Found | undefined,
  caller: Caller,
): ResourceEvent {
  const resource = found?.shownTo(caller) ?? null;
  // A source's `find` gives resources of its kind.
  const { kind } = eventSources[source];
  return { kind, id, version: found?.version ?? version, resource } as ResourceEvent;
}
