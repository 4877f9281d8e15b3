import type { EventReset, EventsSynced } from "@skerry/contract/events/event-schemas";
import type { ResourceEvent } from "@skerry/contract/events/resource-event";
import type { Caller } from "../caller.ts";
import type { EventFeed } from "./event-feed.ts";
import { readableSources } from "./event-sources.ts";

/** What a stream holds in memory while its client does not read: so many resources, of up to 200 kB each, and none of the others that have changed. */
const READ_AT_ONCE = 10;
/** A stream says so often that it is up to date, in milliseconds. */
const SYNCED_EVERY_MS = 15_000;

export interface FollowParams {
  /** As asked, separated by commas. */
  readonly kind: string | undefined;
  readonly after: string | undefined;
  readonly gone: AbortSignal;
  /** What the caller may do by now: the stream may last for days. */
  readonly confirm: () => Promise<Caller>;
}

interface Told {
  readonly event: string;
  readonly id: string;
  readonly data: ResourceEvent | EventsSynced | EventReset;
}

/** Goes on until its caller may not, or `gone` aborts; then it throws why. */
export async function* followEvents(feed: EventFeed, params: FollowParams): AsyncGenerator<Told, never> {
  const { kind, gone } = params;
  let { after } = params;
  for (;;) {
    const caller = await params.confirm();
    const { orgId } = caller;
    const sources = readableSources(caller, kind);
    const read = await feed.read({ orgId, sources, after, limit: READ_AT_ONCE });
    const { cursor, now, reset } = read;
    if (reset !== null) yield { event: "reset", id: cursor, data: { reason: reset, cursor } };
    for (const event of read.events) {
      gone.throwIfAborted();
      const data = event.shownTo(caller);
      yield { event: data.kind, id: event.cursor, data };
    }
    after = cursor;
    if (!read.more) {
      yield { event: "synced", id: cursor, data: { cursor, now: now.toISOString() } };
      await feed.changed({ orgId, sources, xid: read.xid }, { withinMs: SYNCED_EVERY_MS, signal: gone });
    }
    gone.throwIfAborted();
  }
}
