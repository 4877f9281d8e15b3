// Tokens that the database has confirmed a moment ago, so that a request need not ask it again. A token that is revoked or expired,
// a member who is removed and a role that is changed stop counting within REVOCATION_MAX_MS on every replica, because nothing
// is believed for longer: no notification has to arrive, and a database that is away confirms nothing.

import { usableScopes } from "@skerry/contract/organizations/scopes";
import { findBearer, recordUse, type Bearer } from "./bearer-store.ts";
import { keyOf, type Credentials } from "./credentials.ts";
import type { Database } from "../db/database.ts";
import type { Caller } from "../caller.ts";
import { BoundedMap } from "../values/bounded-map.ts";

/** What the API promises of revocations; requests that last are held to it too. */
export const REVOCATION_MAX_MS = 5_000;

/** How long a confirmation is believed, from when the database was asked. The rest of the promise is for slow answers. */
export const CONFIRMED_MS = 1_500;

/** Confirmations held at once; those of longest ago give way. Only valid tokens have any, so guessing fills nothing. */
const ENTRIES_MAX = 10_000;

export interface Confirmed {
  readonly userId: string;
  /** Null where the token's user is not a member of the organization that was named, or the token is bound to another. */
  readonly caller: Caller | null;
  /** By the monotonic clock. */
  readonly askedAtMs: number;
  readonly untilMs: number;
}

/** The token would be valid if it had not expired. */
export interface Expired {
  readonly expiredAt: Date;
}

export class TokenCache {
  readonly #db: Database;
  readonly #confirmed = new BoundedMap<string, Confirmed>(ENTRIES_MAX);
  /** Counts what was forgotten: the answer to a question from before that may be out of date and is not kept. */
  #forgotten = 0;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Confirmations held. */
  get size(): number {
    return this.#confirmed.size;
  }

  /** Undefined for a token that is unknown or revoked. */
  async find(credentials: Credentials): Promise<Confirmed | Expired | undefined> {
    const key = keyOf(credentials);
    const known = this.#confirmed.get(key);
    if (known !== undefined && performance.now() < known.untilMs) return known;
    this.#confirmed.delete(key);
    return this.#ask(key, credentials);
  }

  /** What was confirmed for this user is asked again: on this replica the next request sees the change. */
  forget(userId: string): void {
    this.#forgotten += 1;
    this.#confirmed.deleteWhere((confirmed) => confirmed.userId === userId);
  }

  async #ask(key: string, credentials: Credentials): Promise<Confirmed | Expired | undefined> {
    const askedAtMs = performance.now();
    const forgotten = this.#forgotten;
    const bearer = await findBearer(this.#db, credentials);
    if (bearer === undefined) return undefined;
    if (bearer.expires_at_ms !== null && (bearer.expires_in_ms ?? 0) <= 0)
      return { expiredAt: new Date(bearer.expires_at_ms) };
    if (bearer.stale) await recordUse(this.#db, bearer.token_id);
    const believedMs = Math.min(CONFIRMED_MS, bearer.expires_in_ms ?? CONFIRMED_MS);
    const confirmed = {
      userId: bearer.user_id,
      caller: callerOf(bearer),
      askedAtMs,
      untilMs: askedAtMs + believedMs,
    };
    // A request for an organization of others is an error each time and takes no room here.
    if (confirmed.caller !== null && forgotten === this.#forgotten) this.#confirmed.set(key, confirmed);
    return confirmed;
  }
}

function callerOf({ token_id, user_id, scopes, membership }: Bearer): Caller | null {
  if (membership === null) return null;
  return {
    orgId: membership.org_id,
    userId: user_id,
    tokenId: token_id,
    role: membership.role,
    scopes: usableScopes(scopes, membership),
    auditDetails: membership.audit_details,
  };
}
