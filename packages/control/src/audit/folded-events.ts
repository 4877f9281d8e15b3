// Events on their way into the audit log, which keeps everything for 30 days at least, where there may be very many: without a bound a token that may do
// nothing fills the disk with its refusals. The first event of a kind (token, action, code) is stored before its answer goes out. Equal ones are counted in
// this process and stored as one event, with their count, at the end of each minute in which there were any, and when the server closes.
// A process that is killed loses the counts of that minute, and never the first of a kind.

import type { AuditAction } from "@skerry/contract/audit/audit-actions";
import type { NewAuditEvent } from "./insert-audit-events.ts";

/** An event that stands for `count` equal ones. */
export interface FoldedEvent extends NewAuditEvent {
  readonly count: number;
}

const MINUTE_MS = 60_000;
/** Kinds of one organization, and of one of its tokens, that are told apart within a minute. */
const KINDS_PER_ORGANIZATION_MAX = 20;
const KINDS_PER_TOKEN_MAX = 5;
/** Further kinds are one event for each token, without the details that differ, so that no token hides the
 *  events of another one; and one event for all tokens beyond this number. A replica stores at most 61 events
 *  a minute of an organization. */
const OTHERS_TOKENS_MAX = 20;

interface ManyKinds {
  readonly action: AuditAction;
  readonly resource_kind: string;
}

/** Events of one organization since the last minute ended. Undefined: all of the kind are stored. */
interface Counted {
  readonly kinds: Map<string, FoldedEvent | undefined>;
  /** Keys are tokens; the empty key has the events of all further tokens. */
  readonly others: Map<string, FoldedEvent>;
}

export class FoldedEvents {
  readonly #manyKinds: ManyKinds;
  readonly #store: (events: readonly FoldedEvent[]) => Promise<void>;
  readonly #organizations = new Map<string, Counted>();
  readonly #timer: NodeJS.Timeout;
  #storing: Promise<void> = Promise.resolve();
  #isClosed = false;

  /** `manyKinds`: what several kinds are called together. `store` never rejects. */
  constructor(manyKinds: ManyKinds, store: (events: readonly FoldedEvent[]) => Promise<void>) {
    this.#manyKinds = manyKinds;
    this.#store = store;
    this.#timer = setInterval(() => void this.endMinute(), MINUTE_MS);
    this.#timer.unref();
  }

  /** Resolves when the event is stored, or counted. */
  async add(event: NewAuditEvent): Promise<void> {
    const one = { ...event, count: 1 };
    if (this.#isClosed) return this.#store([one]);
    const own = this.#countedOf(event.org_id);
    const ofToken = `${event.token_id} `;
    const kind = `${ofToken}${event.action} ${event.code}`;
    if (own.kinds.has(kind)) {
      own.kinds.set(kind, folded(own.kinds.get(kind), one));
    } else if (
      own.kinds.size < KINDS_PER_ORGANIZATION_MAX &&
      [...own.kinds.keys()].filter((known) => known.startsWith(ofToken)).length < KINDS_PER_TOKEN_MAX
    ) {
      own.kinds.set(kind, undefined);
      await this.#store([one]);
    } else {
      const isApart = own.others.has(ofToken) || own.others.size < OTHERS_TOKENS_MAX;
      const whose = isApart ? ofToken : "";
      const other = { ...one, ...this.#manyKinds, resource_id: event.org_id };
      own.others.set(whose, folded(own.others.get(whose), other));
    }
  }

  /** Stores what was counted. A kind that goes on is counted on, so that it remains one event a minute. */
  endMinute(): Promise<void> {
    const events: FoldedEvent[] = [];
    for (const [orgId, { kinds, others }] of this.#organizations) {
      for (const [kind, counted] of kinds) {
        if (counted === undefined) kinds.delete(kind);
        else {
          events.push(counted);
          kinds.set(kind, undefined);
        }
      }
      events.push(...others.values());
      if (kinds.size === 0) this.#organizations.delete(orgId);
      else this.#organizations.set(orgId, { kinds, others: new Map() });
    }
    const before = this.#storing;
    this.#storing = before.then(() => (events.length > 0 ? this.#store(events) : undefined));
    return this.#storing;
  }

  /** Stores what was counted; what comes later is stored at once. */
  close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    return this.endMinute();
  }

  #countedOf(orgId: string): Counted {
    let counted = this.#organizations.get(orgId);
    if (counted === undefined)
      this.#organizations.set(orgId, (counted = { kinds: new Map(), others: new Map() }));
    return counted;
  }
}

/** The id and the request of the last one, and of the rest what all have in common. */
function folded(counted: FoldedEvent | undefined, one: FoldedEvent): FoldedEvent {
  if (counted === undefined) return one;
  const shared = <Name extends "user_id" | "token_id" | "address" | "resource_id" | "code">(name: Name) =>
    counted[name] === one[name] ? one[name] : null;
  return {
    ...one,
    user_id: shared("user_id"),
    token_id: shared("token_id"),
    address: shared("address"),
    resource_id: shared("resource_id"),
    code: shared("code"),
    count: counted.count + 1,
  };
}
