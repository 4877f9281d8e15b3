// Who asks too often. The tickets are in PostgreSQL, so that replicas share them; asking it for each would cost more than most
// requests do. So a token that asks often gets its tickets in small leases: the more of them it uses up, the larger the next,
// and what is not used within a moment is lost. The bucket is kept as much below its brim as flows in during that moment: a
// lease that is used late is then still within what the limit allows, and the sum is never over it.

import type { RateClass } from "@skerry/contract/access";
import type { OrganizationLimits } from "@skerry/contract/quotas";
import type { Database } from "../store/database.ts";
import { takeTickets, type Rate, type Tickets } from "../store/rate-buckets.ts";
import type { Caller } from "./context.ts";

const LEASE_MS = 500;
/** The largest lease, as a part of the burst and at all: so much is lost at most when a replica dies or traffic stops. */
const LEASE_PART_OF_BURST = 1 / 64;
const LEASE_MAX_TICKETS = 256;
/** Tokens that this process keeps in mind. Who is forgotten loses a lease of a moment. */
const COUNTERS_MAX = 20_000;

/** What a request is told about its limit. */
export interface RateStatus {
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

export class RateLimiter {
  readonly #db: Database;
  readonly #defaults: OrganizationLimits;
  readonly #counters = new Map<string, Counter>();

  constructor(db: Database, defaults: OrganizationLimits) {
    this.#db = db;
    this.#defaults = defaults;
  }

  /** Takes one ticket where there is one; without asking the database where a lease has one. */
  take(caller: Pick<Caller, "tokenId" | "orgId">, rateClass: RateClass): RateStatus | Promise<RateStatus> {
    const key = `${caller.tokenId} ${caller.orgId} ${rateClass}`;
    let counter = this.#counters.get(key);
    if (counter === undefined) {
      if (this.#counters.size >= COUNTERS_MAX) this.#forgetOldest();
      counter = new Counter((count) => this.#fetch(caller, rateClass, count));
      this.#counters.set(key, counter);
    }
    return counter.take();
  }

  #fetch(
    { tokenId, orgId }: Pick<Caller, "tokenId" | "orgId">,
    rateClass: RateClass,
    count: number,
  ): Promise<Tickets> {
    const rate = {
      perMinute: this.#defaults[`rate_${rateClass}_per_minute`],
      burst: this.#defaults[`rate_${rateClass}_burst`],
    };
    return takeTickets(this.#db, { tokenId, orgId, rateClass, count, rate, slackS: LEASE_MS / 1_000 });
  }

  #forgetOldest(): void {
    for (const key of this.#counters.keys()) {
      this.#counters.delete(key);
      return;
    }
  }
}

/** The tickets of one token and class that this process holds. */
class Counter {
  readonly #fetch: (count: number) => Promise<Tickets>;
  #tickets = 0;
  #leaseEndsMs = 0;
  #leaseSize = 1;
  /** The bucket was empty; asking before this would bring nothing. */
  #emptyUntilMs = 0;
  #known: Tickets | undefined;
  #waiting: Waiting[] = [];
  #isFetching = false;

  constructor(fetch: (count: number) => Promise<Tickets>) {
    this.#fetch = fetch;
  }

  take(): RateStatus | Promise<RateStatus> {
    const nowMs = performance.now();
    if (this.#tickets > 0 && nowMs < this.#leaseEndsMs && this.#known !== undefined) {
      this.#tickets -= 1;
      return this.#status(this.#known);
    }
    if (nowMs < this.#emptyUntilMs && this.#known !== undefined) return this.#refused(this.#known, nowMs);
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
    const partOfBurst = Math.floor(this.#known?.rate.burst ?? 0) * LEASE_PART_OF_BURST;
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
    this.#emptyUntilMs = nowMs + msUntil(1 - tickets.available, tickets.rate);
    for (const waiting of this.#waiting.splice(0)) waiting.resolve(this.#refused(tickets, nowMs));
  }

  #status({ rate, available }: Tickets): RateStatus {
    const remaining = Math.floor(available) + this.#tickets;
    return { rate, remaining, fullInS: secondsOf(msUntil(rate.burst - remaining, rate)), refusedForS: null };
  }

  #refused({ rate, available }: Tickets, nowMs: number): RateStatus {
    const refusedForS = Math.max(1, secondsOf(this.#emptyUntilMs - nowMs));
    return { rate, remaining: 0, fullInS: secondsOf(msUntil(rate.burst - available, rate)), refusedForS };
  }
}

const MINUTE_MS = 60_000;
/** An operator may set a rate to nothing at all; then there is no better time than this. */
const SECONDS_MAX = 3_600;

/** Until so many tickets have flowed in. */
function msUntil(tickets: number, { perMinute }: Rate): number {
  return Math.min(SECONDS_MAX * 1_000, (tickets * MINUTE_MS) / perMinute);
}

function secondsOf(ms: number): number {
  return Math.ceil(ms / 1_000);
}
