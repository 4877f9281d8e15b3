// Each background service runs on one replica at a time. The replica that comes first when it is due takes its lease for one activation and renews it
// while that lasts; the lease of one who died lapses. One who was only stopped, and wakes up after that, finds its database fenced.

import { setInterval } from "node:timers";
import type { Database } from "../db/database.ts";
import type { LeaseRun } from "../db/tables/background-tables.ts";
import type { ServiceName } from "../context.ts";
import type { Fence } from "../db/fence.ts";
import type { Wakeup } from "./wakeups.ts";
import { finishLease, renewLease, takeLease, type HeldLease } from "./lease-store.ts";

/** After this the lease of a holder that is not heard of lapses. Short, because it delays what the dead one was at; a living one that it
 *  hits is fenced, so nothing breaks. */
const LEASE_MS = 10_000;
/** A database that takes seconds to answer does not cost a living holder its lease. */
const RENEW_EVERY_MS = 3_000;

export class Leases {
  readonly #db: Database;
  readonly #holder: string;

  constructor(db: Database, holder: string) {
    this.#db = db;
    this.#holder = holder;
  }

  /** The wake-ups that came while the database was away. */
  async passOn(wakeup: Wakeup, service: ServiceName): Promise<void> {
    if (wakeup.isPending) await wakeup.tell(this.#db, service);
  }

  /** Where it is not due or another replica runs it: how long until that may have changed. */
  async take(name: string, fence: Fence, stop: AbortSignal): Promise<Lease | { readonly waitMs: number }> {
    const taken = await takeLease(this.#db, { name, holder: this.#holder, ms: LEASE_MS });
    if (!("token" in taken)) return taken;
    fence.held = { name, token: taken.token };
    return new Lease(this.#db, this.#holder, { held: fence.held, fence, stop });
  }
}

/** Of one activation. */
export class Lease implements Disposable {
  readonly #db: Database;
  readonly #holder: string;
  readonly #held: HeldLease;
  readonly #fence: Fence;
  readonly #over = new AbortController();
  readonly #stop: AbortSignal;
  readonly #onStop = () => this.#over.abort();
  readonly #timer: NodeJS.Timeout;

  constructor(
    db: Database,
    holder: string,
    { held, fence, stop }: { readonly held: HeldLease; readonly fence: Fence; readonly stop: AbortSignal },
  ) {
    this.#db = db;
    this.#holder = holder;
    this.#held = held;
    this.#fence = fence;
    this.#stop = stop;
    stop.addEventListener("abort", this.#onStop, { once: true });
    if (stop.aborted) this.#onStop();
    this.#timer = setInterval(() => void this.#renew(), RENEW_EVERY_MS);
  }

  /** Aborted when the service should stop, and when another replica has taken the lease. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** Gives it up. Returns when the service is due again: after `nextMs`, or at once where it was woken. */
  finish(run: Omit<LeaseRun, "holder">, nextMs: number): Promise<number> {
    return finishLease(this.#db, this.#held, { run: { holder: this.#holder, ...run }, nextMs });
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#stop.removeEventListener("abort", this.#onStop);
    this.#fence.held = undefined;
  }

  async #renew(): Promise<void> {
    try {
      if (!(await renewLease(this.#db, this.#held, LEASE_MS))) this.#over.abort();
    } catch {
      // While the database is away no other replica can take the lease either; if it has lapsed, the fence decides.
    }
  }
}
