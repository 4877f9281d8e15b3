// What all readers of `/v1/events` on this process share. Nothing is queued for any of them: a reader has a cursor and asks for what comes after it, and
// the rows tell the newest state, so one that is slow skips what was in between. Who is at the end waits, and one query every quarter of a
// second finds for whom there is something. No notification is needed, and none can be lost.

import { SkerryError } from "@skerry/contract/errors";
import { EVENT_STREAMS_OF_ORGANIZATION_MAX, EVENT_STREAMS_OF_TOKEN_MAX } from "@skerry/contract/bounds";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import type { EventSource } from "./event-sources.ts";
import { whichHaveChanges, type Horizon, type Waiting } from "./event-store.ts";
import { readEvents, type EventsRead, type ReadParams } from "./read-events.ts";

/** How often it is looked for changes, in milliseconds, while a reader waits; so a stream brings one resource at most four times a second. */
const LOOK_EVERY_MS = 250;
/** Reads at once: streams leave the database's connections to other requests. */
const READS_MAX = 4;

interface Waiter extends Waiting {
  readonly wake: () => void;
  /** By the monotonic clock. */
  readonly untilMs: number;
}

export class EventFeed {
  readonly #context: Context;
  readonly #waiters = new Set<Waiter>();
  readonly #streams = new Map<string, number>();
  /** Since it was looked last: readers of one organization that are equally far share a read. */
  #shared = new Map<string, Promise<EventsRead>>();
  /** When it was looked last. */
  #lookedAtMs = 0;
  #horizon: Horizon | undefined;
  #reading = 0;
  readonly #queued: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;
  #looking = false;

  constructor(context: Context) {
    this.#context = context;
  }

  /** A place for one more stream. Throws `too_many_streams`. */
  open({ tokenId, orgId }: Caller): Disposable {
    const places = [
      { id: tokenId, max: EVENT_STREAMS_OF_TOKEN_MAX, whose: "token" },
      { id: orgId, max: EVENT_STREAMS_OF_ORGANIZATION_MAX, whose: "organization" },
    ];
    const taken = places.find(({ id, max }) => (this.#streams.get(id) ?? 0) >= max);
    if (taken !== undefined) {
      throw new SkerryError(
        "too_many_streams",
        `The ${taken.whose} has ${taken.max} streams of events open.`,
        {
          remediation: "Close one of them; one stream brings all kinds of events.",
          context: { max: taken.max },
        },
      );
    }
    for (const { id } of places) this.#streams.set(id, (this.#streams.get(id) ?? 0) + 1);
    return {
      [Symbol.dispose]: () => {
        for (const { id } of places) {
          const left = (this.#streams.get(id) ?? 1) - 1;
          if (left > 0) this.#streams.set(id, left);
          else this.#streams.delete(id);
        }
      },
    };
  }

  /** For streams: equal reads of a moment are one. */
  read(params: ReadParams): Promise<EventsRead> {
    if (this.#timer === undefined) return this.#readInTurn(params);
    const key = [params.orgId, params.sources.join(), params.after].join(" ");
    const shared = this.#shared.get(key) ?? this.#readInTurn({ ...params, upTo: this.#horizon });
    this.#shared.set(key, shared);
    return shared;
  }

  /** Resolves when there may be something to read, or after this time. */
  async changed(
    { orgId, sources, xid }: { orgId: string; sources: readonly EventSource[]; xid: string },
    { withinMs, signal }: { readonly withinMs: number; readonly signal: AbortSignal },
  ): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = () => resolve();
    signal.addEventListener("abort", wake, { once: true });
    if (signal.aborted) wake();
    if (this.#timer === undefined) {
      this.#timer = setInterval(() => void this.#look(), LOOK_EVERY_MS);
      this.#lookedAtMs = performance.now();
    }
    // Those who begin to wait between two looks are woken by the same one, too.
    const waiter = { orgId, sources, xid, wake, untilMs: this.#lookedAtMs + withinMs };
    this.#waiters.add(waiter);
    try {
      await promise;
    } finally {
      signal.removeEventListener("abort", wake);
      this.#waiters.delete(waiter);
    }
  }

  async #look(): Promise<void> {
    this.#shared = new Map();
    this.#lookedAtMs = performance.now();
    for (const { untilMs, wake } of this.#waiters) if (untilMs <= this.#lookedAtMs) wake();
    if (this.#waiters.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      this.#horizon = undefined;
      return;
    }
    // A database that is slow is not asked twice at once.
    if (this.#looking) return;
    this.#looking = true;
    try {
      const groups = [
        ...Map.groupBy(this.#waiters, ({ orgId, sources }) => `${orgId} ${sources.join()}`).values(),
      ];
      const { places, horizon } = await whichHaveChanges(this.#context.db, groups.map(farthestBehind));
      this.#horizon = horizon;
      for (const place of places) for (const { wake } of groups[place] ?? []) wake();
    } catch (error) {
      // It is looked again. Where the database stays away, the streams are ended as all requests are that last.
      this.#context.log.debug({ err: error }, "could not look for changes");
    } finally {
      this.#looking = false;
    }
  }

  async #readInTurn(params: ReadParams): Promise<EventsRead> {
    if (this.#reading >= READS_MAX) await new Promise<void>((resolve) => this.#queued.push(resolve));
    else this.#reading += 1;
    try {
      return await readEvents(this.#context, params);
    } finally {
      const next = this.#queued.shift();
      // The next one has this one's place.
      if (next === undefined) this.#reading -= 1;
      else next();
    }
  }
}

function farthestBehind(group: readonly Waiting[]): Waiting {
  return group.reduce((one, other) => (BigInt(other.xid) < BigInt(one.xid) ? other : one));
}
