// How a service is told that there is something to do before its time.

import { setTimeout as sleep } from "node:timers/promises";
import type { ServiceName } from "../context.ts";
import type { Database } from "../db/database.ts";
import { ringLease } from "./lease-store.ts";

export { ringLease } from "./lease-store.ts";

/** Ends a wait early. Rings coalesce: many rings, one activation. */
export class Wakeup {
  #rung = new AbortController();
  /** A service was woken, and the database could not be told. */
  isOwed = false;

  ring(): void {
    this.#rung.abort();
  }

  async wait(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#rung.signal }).catch(() => undefined);
    this.#rung = new AbortController();
  }

  /** Says in the lease that the service is due. Where that fails, the service says it itself before its next turn. */
  async tell(db: Database, service: ServiceName): Promise<void> {
    try {
      await ringLease(db, service);
      this.isOwed = false;
    } catch (error) {
      this.isOwed = true;
      throw error;
    }
  }
}

/** One for each service. */
export class Wakeups {
  readonly #bells = new Map<ServiceName, Wakeup>();

  of(service: ServiceName): Wakeup {
    const known = this.#bells.get(service);
    if (known !== undefined) return known;
    const bell = new Wakeup();
    this.#bells.set(service, bell);
    return bell;
  }

  /** Says that the service is due. Then this replica looks, unless another one is at it, which will look again. */
  async ring(db: Database, service: ServiceName): Promise<void> {
    const bell = this.of(service);
    try {
      await bell.tell(db, service);
    } finally {
      bell.ring();
    }
  }
}
