// Requests that last, such as a stream of a command's output. Each is asked about again and again, and ended when its token is
// revoked or expires, when its user may no longer make it, or when the database has not confirmed it for too long.

import { SkerryError } from "@skerry/contract/errors";
import type { Credentials } from "../store/bearers.ts";
import { confirmedCaller } from "./authentication.ts";
import { CONFIRMED_MS, REVOCATION_MAX_MS, type Bearers } from "./bearers.ts";
import type { Caller } from "./context.ts";

const CHECK_MS = 500;
/** Leaves time for one check that comes late, and for telling the client. */
const UNCONFIRMED_MAX_MS = REVOCATION_MAX_MS - 2 * CHECK_MS;
const DATABASE_RETRY_S = 2;

export interface Watched {
  readonly credentials: Credentials;
  /** Throws where the caller may not go on. */
  readonly check: (caller: Caller) => void;
  readonly end: (reason: SkerryError) => void;
}

interface Entry extends Watched {
  confirmedAtMs: number;
  asking: boolean;
}

export class AccessWatch {
  readonly #bearers: Bearers;
  readonly #entries = new Set<Entry>();
  #timer: NodeJS.Timeout | undefined;

  constructor(bearers: Bearers) {
    this.#bearers = bearers;
  }

  /** From a request that was allowed a moment ago, until it is disposed of or ended. */
  add(watched: Watched): Disposable {
    // At worst it was allowed by a confirmation that was about to lapse.
    const entry = { ...watched, confirmedAtMs: performance.now() - CONFIRMED_MS, asking: false };
    this.#entries.add(entry);
    this.#timer ??= setInterval(() => this.#checkAll(), CHECK_MS);
    return { [Symbol.dispose]: () => this.#remove(entry) };
  }

  #checkAll(): void {
    for (const entry of this.#entries) {
      if (performance.now() - entry.confirmedAtMs > UNCONFIRMED_MAX_MS) this.#end(entry, unconfirmed());
      else if (!entry.asking) void this.#check(entry);
    }
  }

  async #check(entry: Entry): Promise<void> {
    entry.asking = true;
    try {
      const confirmed = await this.#bearers.find(entry.credentials);
      entry.check(confirmedCaller(confirmed));
      if (confirmed !== undefined) entry.confirmedAtMs = confirmed.askedAtMs;
    } catch (error) {
      // Anything else is a database that does not answer, which the clock above takes care of.
      if (error instanceof SkerryError) this.#end(entry, error);
    } finally {
      entry.asking = false;
    }
  }

  #end(entry: Entry, reason: SkerryError): void {
    if (this.#remove(entry)) entry.end(reason);
  }

  #remove(entry: Entry): boolean {
    const removed = this.#entries.delete(entry);
    if (this.#entries.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    return removed;
  }
}

function unconfirmed(): SkerryError {
  return new SkerryError(
    "database_unavailable",
    "The database does not answer, so nobody knows whether the token of this request is still valid.",
    { remediation: "Try again; what the request had begun was stopped.", retryAfterS: DATABASE_RETRY_S },
  );
}
