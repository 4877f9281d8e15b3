// The way of each call's event into the audit log: one by one, with bounds on what one organization can make the database keep for 30 days. Equal refusals
// are folded from the second one on. Other calls are folded where an organization has made very many within a day: the log then still tells who did what,
// when and how often, and the ids of single resources no more.

import { eventOfCall, recordCallAfterwards, recordFolded, type CallerAct, type Ending } from "./audit-log.ts";
import type { AuditSink } from "./audit-sink.ts";
import { FoldedEvents } from "./folded-events.ts";
import type { NewAuditEvent } from "./insert-audit-events.ts";

/** Events of one organization on each replica, one by one. An event takes 1.1 kB with its indexes, so these
 *  are 110 MB a day; what is folded beyond them is 100 MB at most. */
export const EVENTS_PER_DAY = 100_000;
const DAY_MS = 24 * 3_600_000;

export class AuditTrail {
  readonly #context: AuditSink;
  readonly #perDay: number;
  readonly #refusals: FoldedEvents;
  readonly #beyond: FoldedEvents;
  #day = 0;
  /** Events of today, by organization. */
  #counts = new Map<string, number>();

  constructor(context: AuditSink, perDay = EVENTS_PER_DAY) {
    this.#context = context;
    this.#perDay = perDay;
    const folding = (action: "organization.refusals" | "organization.calls") =>
      new FoldedEvents({ action, resource_kind: "organization" }, (events) => recordFolded(context, events));
    this.#refusals = folding("organization.refusals");
    this.#beyond = folding("organization.calls");
  }

  /** Resolves when the event is stored, counted, or told to the log. */
  async record(act: CallerAct, ending: Ending): Promise<void> {
    const event = eventOfCall(act, ending);
    if (ending.outcome === "denied") return this.#refusals.add(event);
    if (!this.#isWithin(event.org_id)) return this.#beyond.add(event);
    return recordCallAfterwards(this.#context, act, ending);
  }

  /** The event, for a statement that writes it with what it tells of; undefined where it is folded instead. */
  apart(event: NewAuditEvent): NewAuditEvent | undefined {
    if (this.#isWithin(event.org_id)) return event;
    void this.#beyond.add(event);
    return undefined;
  }

  /** Stores what was counted. */
  async close(): Promise<void> {
    await Promise.all([this.#refusals.close(), this.#beyond.close()]);
  }

  #isWithin(orgId: string): boolean {
    const today = Math.floor(Date.now() / DAY_MS);
    if (today !== this.#day) [this.#day, this.#counts] = [today, new Map()];
    const count = (this.#counts.get(orgId) ?? 0) + 1;
    this.#counts.set(orgId, count);
    return count <= this.#perDay;
  }
}
