// How a service is told that there is something to do before its time.

import { setTimeout as sleep } from "node:timers/promises";
import type { ServiceName } from "../context.ts";
import type { Database } from "../db/database.ts";
import { makeLeaseDue } from "./make-lease-due.ts";

/** Ends a wait early. Wake-ups coalesce: many of them, one activation. */
export class Wakeup {
  #woken = new AbortController();
  /** A service was woken, and the database could not be told. */
  isPending = false;

  wake(): void {
    this.#woken.abort();
  }

  async wait(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#woken.signal }).catch(() => undefined);
    this.#woken = new AbortController();
  }

  /** Says in the lease that the service is due. Where that fails, the service says it itself before its next turn. */
  async tell(db: Database, service: ServiceName): Promise<void> {
    try {
      await makeLeaseDue(db, service);
      this.isPending = false;
    } catch (error) {
      this.isPending = true;
      throw error;
    }
  }
}

/** One for each service. */
export class Wakeups {
  readonly #wakeups = new Map<ServiceName, Wakeup>();

  of(service: ServiceName): Wakeup {
    const known = this.#wakeups.get(service);
    if (known !== undefined) return known;
    const wakeup = new Wakeup();
    this.#wakeups.set(service, wakeup);
    return wakeup;
  }

  /** Says that the service is due. Then this replica looks, unless another one is at it, which will look again. */
  async wake(db: Database, service: ServiceName): Promise<void> {
    const wakeup = this.of(service);
    try {
      await wakeup.tell(db, service);
    } finally {
      wakeup.wake();
    }
  }
}
