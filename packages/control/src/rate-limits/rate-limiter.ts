// Who asks too often. The tickets are in PostgreSQL, so that replicas share them; asking it for each would cost more than most
// requests do. So a token that asks often gets its tickets in small leases: the more of them it uses up, the larger the next,
// and what is not used within a moment is lost. The bucket is kept as much below its brim as flows in during that moment: a
// lease that is used late is then still within what the limit allows, and the sum is never over it.
//
// Each ticket is one of the token's bucket and one of its organization's, taken together: a lease of a token is a lease of both, so what
// holds for the one holds for the other, however many tokens an organization mints. Calls that end tokens take a ticket of the token's
// bucket alone.

import type { RateClass } from "@skerry/contract/limits/rate-classes";
import type { OrganizationLimits } from "@skerry/contract/limits/quotas";
import type { Database } from "../db/database.ts";
import {
  takeTickets,
  type Bucket,
  type Rate,
  type TicketOf,
  type Tickets,
  type TicketRequest,
} from "./rate-bucket-store.ts";
import type { Caller } from "../caller.ts";
import { BoundedMap } from "../values/bounded-map.ts";

const LEASE_MS = 500;
/** The largest lease, as a part of the burst and at all: so much is lost at most when a replica dies or traffic stops. */
const LEASE_PART_OF_BURST = 1 / 64;
const LEASE_MAX_TICKETS = 256;
/** How long a bucket that was found empty is not asked again at most: the operator may have raised its rate. */
const EMPTY_KNOWN_MS = 1_000;
/** Tokens, and organizations, that this process keeps in mind. Who is forgotten loses a lease of a moment. */
const COUNTERS_MAX = 20_000;

/** What a request is told about its limit. */
export interface RateStatus {
  /** Whose limit this is: of the token's and the organization's the one that is nearer. */
  readonly of: Bucket["of"];
  readonly rate: Rate;
  /** Requests that would be granted now; others may be faster. */
  readonly remaining: number;
  /** Until all of the burst is there again. */
  readonly fullInS: number;
  /** Null: it has its ticket. Otherwise there was none, and there will be one in so many seconds. */
  readonly refusedForS: number | null;
}

interface Waiting {
  resolve(status: RateStatus): void;
  reject(error: unknown): void;
}

/** A bucket was empty. */
interface Empty {
  readonly bucket: Bucket;
  /** When it has a ticket again, by the rate that it had. */
  readonly untilMs: number;
  /** The bucket is not asked again before this. */
  readonly askedAgainMs: number;
}

/** What the tokens of an organization tell each other, for one class: without it each of them would ask an empty bucket. */
interface Shared {
  empty: Empty | undefined;
}

export class RateLimiter {
  readonly #db: Database;
  readonly #defaults: OrganizationLimits;
  readonly #counters = new BoundedMap<string, Counter>(COUNTERS_MAX);
  readonly #shared = new BoundedMap<string, Shared>(COUNTERS_MAX);

  constructor(db: Database, defaults: OrganizationLimits) {
    this.#db = db;
    this.#defaults = defaults;
  }

  /** Takes one ticket where there is one; without asking the database where a lease has one. */
  take(
    caller: Pick<Caller, "tokenId" | "orgId">,
    rateClass: RateClass,
    ticketOf: TicketOf = "both",
  ): RateStatus | Promise<RateStatus> {
    const key = `${caller.tokenId} ${caller.orgId} ${rateClass} ${ticketOf}`;
    let counter = this.#counters.get(key);
    if (counter === undefined) {
      const shared = ticketOf === "both" ? this.#sharedBy(caller.orgId, rateClass) : { empty: undefined };
      counter = new Counter(shared, (count) => this.#fetch(caller, { rateClass, ticketOf, count }));
      this.#counters.set(key, counter);
    }
    return counter.take();
  }

  #sharedBy(orgId: string, rateClass: RateClass): Shared {
    const key = `${orgId} ${rateClass}`;
    const known = this.#shared.get(key);
    if (known !== undefined) return known;
    const shared: Shared = { empty: undefined };
    this.#shared.set(key, shared);
    return shared;
  }

  #fetch(
    { tokenId, orgId }: Pick<Caller, "tokenId" | "orgId">,
    request: Pick<TicketRequest, "rateClass" | "ticketOf" | "count">,
  ): Promise<Tickets> {
    const rate = {
      perMinute: this.#defaults[`rate_${request.rateClass}_per_minute`],
      burst: this.#defaults[`rate_${request.rateClass}_burst`],
    };
    return takeTickets(this.#db, { ...request, tokenId, orgId, rate, slackS: LEASE_MS / 1_000 });
  }
}

/** The tickets of one token and class that this process holds. */
class Counter {
  readonly #shared: Shared;
  readonly #fetch: (count: number) => Promise<Tickets>;
  #tickets = 0;
  #leaseEndsMs = 0;
  #leaseSize = 1;
  #empty: Empty | undefined;
  #known: Tickets | undefined;
  #waiting: Waiting[] = [];
  #isFetching = false;

  constructor(shared: Shared, fetch: (count: number) => Promise<Tickets>) {
    this.#shared = shared;
    this.#fetch = fetch;
  }

  take(): RateStatus | Promise<RateStatus> {
    const nowMs = performance.now();
    if (this.#tickets > 0 && nowMs < this.#leaseEndsMs && this.#known !== undefined) {
      this.#tickets -= 1;
      return this.#status(this.#known);
    }
    const empty = this.#emptyAt(nowMs);
    if (empty !== undefined) return refused(empty, nowMs);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      if (this.#isFetching) return;
      this.#isFetching = true;
      // Sent when all that this turn of the event loop has read is here: one question for all of it.
      setImmediate(() => void this.#refill());
    });
  }

  async #refill(): Promise<void> {
    const askedMs = performance.now();
    this.#leaseSize = this.#nextLeaseSize(askedMs);
    this.#tickets = 0;
    try {
      const count = Math.max(this.#waiting.length, this.#leaseSize);
      const tickets = await this.#fetch(count);
      this.#known = tickets;
      this.#leaseEndsMs = askedMs + LEASE_MS;
      this.#serve(tickets, count);
    } catch (error) {
      for (const waiting of this.#waiting.splice(0)) waiting.reject(error);
    }
    this.#isFetching = this.#waiting.length > 0;
    if (this.#isFetching) void this.#refill();
  }

  /** Twice the last one where that was used up in time; what was left over says that it was too large. */
  #nextLeaseSize(nowMs: number): number {
    if (this.#tickets > 0 || nowMs > this.#leaseEndsMs) return 1;
    const partOfBurst = Math.floor(this.#known?.token.rate.burst ?? 0) * LEASE_PART_OF_BURST;
    return Math.max(1, Math.min(2 * this.#leaseSize, Math.floor(partOfBurst), LEASE_MAX_TICKETS));
  }

  /** Who came while the tickets were fetched may have one too; where there were too few, there are none for the rest. */
  #serve(tickets: Tickets, asked: number): void {
    const nowMs = performance.now();
    this.#tickets = tickets.granted;
    for (const waiting of this.#waiting.splice(0, tickets.granted)) {
      this.#tickets -= 1;
      waiting.resolve(this.#status(tickets));
    }
    if (tickets.granted === asked) return;
    this.#empty = emptyFrom(tickets.token, nowMs) ?? this.#empty;
    if (tickets.organization !== undefined)
      this.#shared.empty = emptyFrom(tickets.organization, nowMs) ?? this.#shared.empty;
    const empty = this.#emptyAt(nowMs);
    if (empty === undefined) throw new Error("tickets were refused although both buckets had some");
    for (const waiting of this.#waiting.splice(0)) waiting.resolve(refused(empty, nowMs));
  }

  /** The one of the two buckets that will be empty for longer; undefined where neither is known to be. */
  #emptyAt(nowMs: number): Empty | undefined {
    const empty = [this.#empty, this.#shared.empty].filter(
      (known) => known !== undefined && nowMs < known.askedAgainMs,
    );
    return empty.reduce(
      (one, other) => ((other?.untilMs ?? 0) > (one?.untilMs ?? 0) ? other : one),
      undefined,
    );
  }

  #status(tickets: Tickets): RateStatus {
    const { of, rate, available } = tighterOf(tickets);
    const remaining = Math.floor(available) + this.#tickets;
    return {
      of,
      rate,
      remaining,
      fullInS: secondsOf(msUntil(rate.burst - remaining, rate)),
      refusedForS: null,
    };
  }
}

/** The bucket that has less, by which the next request will be refused. */
function tighterOf({ token, organization }: Tickets): Bucket {
  return organization !== undefined && organization.available < token.available ? organization : token;
}

/** Undefined where it has a ticket. */
function emptyFrom(bucket: Bucket, nowMs: number): Empty | undefined {
  const { available, rate } = bucket;
  if (available >= 1) return undefined;
  // A millisecond at least: less might not change the sum.
  const emptyForMs = Math.max(1, msUntil(1 - available, rate));
  return {
    bucket,
    untilMs: nowMs + emptyForMs,
    askedAgainMs: nowMs + Math.min(emptyForMs, EMPTY_KNOWN_MS),
  };
}

function refused({ bucket, untilMs }: Empty, nowMs: number): RateStatus {
  const { of, rate, available } = bucket;
  const refusedForS = Math.max(1, secondsOf(untilMs - nowMs));
  return { of, rate, remaining: 0, fullInS: secondsOf(msUntil(rate.burst - available, rate)), refusedForS };
}

const MINUTE_MS = 60_000;
/** An operator may set a rate to nothing at all; then there is no better time than this. */
const SECONDS_MAX = 3_600;

/** Until so many tickets have flowed in. */
function msUntil(tickets: number, { perMinute }: Rate): number {
  return Math.min(SECONDS_MAX * 1_000, (tickets * MINUTE_MS) / perMinute);
}

function secondsOf(ms: number): number {
  // Rounded to whole milliseconds first: the difference of two times may be a trifle too large, which would
  // be a second more.
  return Math.ceil(Math.round(ms) / 1_000);
}
