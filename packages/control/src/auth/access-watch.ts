// Requests that last, such as a stream of a command's output. Each is asked about again and again, and ended when its token is
// revoked or expires, when its user may no longer make it, or when the database does not answer a check for too long.
//
// That the database does not answer is only concluded while the event loop is on time. A loop that was busy reads late what was
// answered early, and a clock alone cannot tell the two apart. So time is counted in ticks: between two of them the loop has read
// what has come, however late it was, and a tick that is late itself ends nothing.

import { SkerryError } from "@skerry/contract/errors";
import { confirmedCaller } from "./authenticate.ts";
import { CONFIRMED_MS, REVOCATION_MAX_MS, type TokenCache } from "./token-cache.ts";
import type { Caller } from "../caller.ts";
import type { Credentials } from "./credentials.ts";

const CHECK_MS = 500;
/** A tick that comes later than this was held up by the loop. */
const TICK_MAX_MS = 2 * CHECK_MS;
/**
 * How many ticks a check may stay unanswered. It is sent within a tick of when the confirmation before lapses; then there is left one
 * tick that comes late, and one for telling the client.
 */
const UNANSWERED_TICKS_MAX = Math.floor((REVOCATION_MAX_MS - CONFIRMED_MS) / CHECK_MS) - 3;
const DATABASE_RETRY_S = 2;

export interface Watched {
  readonly credentials: Credentials;
  /** Throws where the caller may not go on. */
  readonly check: (caller: Caller) => void;
  readonly end: (reason: SkerryError) => void;
}

interface Entry extends Watched {
  /** Ticks since a check was answered: the first one sends the next check. */
  ticks: number;
  asking: boolean;
}

export class AccessWatch {
  readonly #tokenCache: TokenCache;
  readonly #entries = new Set<Entry>();
  #timer: NodeJS.Timeout | undefined;
  #tickedAtMs = 0;

  constructor(tokenCache: TokenCache) {
    this.#tokenCache = tokenCache;
  }

  /** From a request that was allowed a moment ago, until it is disposed of or ended. */
  add(watched: Watched): Disposable {
    const entry = { ...watched, ticks: 0, asking: false };
    this.#entries.add(entry);
    if (this.#timer === undefined) {
      this.#tickedAtMs = performance.now();
      this.#timer = setInterval(() => this.#tick(), CHECK_MS);
    }
    return { [Symbol.dispose]: () => this.#remove(entry) };
  }

  #tick(): void {
    const nowMs = performance.now();
    const onTime = nowMs - this.#tickedAtMs <= TICK_MAX_MS;
    this.#tickedAtMs = nowMs;
    for (const entry of this.#entries) {
      entry.ticks += 1;
      if (onTime && entry.ticks > UNANSWERED_TICKS_MAX) this.#end(entry, unconfirmed());
      else if (!entry.asking) void this.#check(entry);
    }
  }

  async #check(entry: Entry): Promise<void> {
    entry.asking = true;
    try {
      entry.check(confirmedCaller(await this.#tokenCache.find(entry.credentials)));
      entry.ticks = 0;
    } catch (error) {
      // Anything else is a database that does not answer, which the ticks take care of.
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
    "The database does not answer, so it is not known whether the token of this request is still valid.",
    { remediation: "Try again; what the request had begun was stopped.", retryAfterS: DATABASE_RETRY_S },
  );
}
