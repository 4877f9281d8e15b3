// Finds out when PostgreSQL's clock is set, which ends nothing of a tenant. Each replica compares it every
// two seconds with the monotonic clock of its own machine, and vouches for it where both have gone on alike:
// what ends or deletes something trusts `now()` no longer than that (`db/steady-time.ts`). Otherwise the
// clock was set, and the replica that finds it first writes it down, in one transaction with the shift of all
// deadlines; to the others that row explains what they see.
//
// The monotonic clock stands still while its machine is suspended, and so do guests on that machine. A
// replica that was suspended alone finds that another one vouches for the clock, and believes it. Where all
// were, that time is a step as well: it ends nothing.
//
// A replica that has just started cannot tell a step from time that has passed. It looks for 15 s whether
// another one knows, and then takes the clock as it is.

import { setTimeout as sleep } from "node:timers/promises";
import { recordOwnActs } from "../audit/audit-log.ts";
import type { Context } from "../context.ts";
import { isDatabaseOutage, type Queries } from "../db/database.ts";
import { operatorOrganization } from "../organizations/operator-organization.ts";
import {
  beginEra,
  lockEras,
  readClock,
  shiftDeadlines,
  STEP_MIN_MS,
  vouch,
  vouchForNewest,
  type ClockFact,
} from "./clock-store.ts";

const LOOK_EVERY_MS = 2_000;
/** Another replica that knows the clock looks several times meanwhile. */
const NEWCOMER_WAITS_MS = 15_000;

/** Knowledge of a replica about the clock. */
interface Anchor {
  readonly era: number;
  /** The database's clock, less the monotonic one. */
  readonly aheadMs: number;
  /** A time of the monotonic clock, of a replica that waits whether another one knows better. */
  readonly waitsUntilMs?: number;
}

interface Settled {
  readonly anchor: Anchor;
  /** Undefined: there was none, or another replica had written it down. */
  readonly steppedMs?: number;
}

/** The watch of one replica. */
export class ClockWatch {
  readonly #context: Pick<Context, "db" | "log">;
  readonly #monotonicMs: () => number;
  #anchor: Anchor | undefined;

  constructor(context: Pick<Context, "db" | "log">, monotonicMs: () => number = () => performance.now()) {
    this.#context = context;
    this.#monotonicMs = monotonicMs;
  }

  /** Looks until `stop`. While the database is away nothing is vouched for. */
  async run(stop: AbortSignal): Promise<void> {
    const { log } = this.#context;
    let isFailing = false;
    while (!stop.aborted) {
      try {
        await this.look();
        isFailing = false;
      } catch (error) {
        if (!isFailing && !isDatabaseOutage(error))
          log.warn({ err: error }, "the clock of the database could not be looked at: nothing expires");
        isFailing = true;
      }
      await sleep(LOOK_EVERY_MS, undefined, { signal: stop }).catch(() => undefined);
    }
  }

  async look(): Promise<void> {
    const { db, log } = this.#context;
    const anchor = this.#anchor;
    const atMs = this.#monotonicMs();
    if (anchor !== undefined) {
      if (anchor.waitsUntilMs !== undefined && atMs < anchor.waitsUntilMs) return;
      const nowMs = await vouch(db, { era: anchor.era, expectedMs: anchor.aheadMs + atMs });
      if (nowMs !== undefined) {
        this.#anchor = { era: anchor.era, aheadMs: nowMs - atMs };
        return;
      }
    }
    const settled = await db.transaction().execute((transaction) => this.#settle(transaction, anchor));
    this.#anchor = settled.anchor;
    if (settled.steppedMs === undefined) return;
    log.warn(
      { stepped_s: Math.round(settled.steppedMs / 1_000), era: settled.anchor.era },
      "the clock of the database was set: deadlines of sandboxes and builds were shifted with it; have it kept right by NTP",
    );
  }

  async #settle(transaction: Queries, anchor: Anchor | undefined): Promise<Settled> {
    // The transaction begins with its first statement, and `now()` is of then.
    const atMs = this.#monotonicMs();
    await lockEras(transaction);
    const clock = await readClock(transaction, anchor?.era);
    const at = (era: number): Anchor => ({ era, aheadMs: clock.now_ms - atMs });
    if (clock.era === null) return { anchor: at(await beginEra(transaction, 0)) };
    if (isVouchedFor(clock)) {
      await vouchForNewest(transaction);
      return { anchor: at(clock.era) };
    }
    if (anchor === undefined) return { anchor: { ...at(clock.era), waitsUntilMs: atMs + NEWCOMER_WAITS_MS } };
    const steppedMs = Math.round(clock.now_ms - (anchor.aheadMs + atMs) - clock.explained_ms);
    if (Math.abs(steppedMs) <= STEP_MIN_MS) {
      await vouchForNewest(transaction);
      return { anchor: at(clock.era) };
    }
    const era = await beginEra(transaction, steppedMs);
    await shiftDeadlines(transaction, steppedMs);
    await recordStep(transaction, era);
    return { anchor: at(era), steppedMs };
  }
}

/** Another replica, or this one before it was started anew, has found it to be right a moment ago. */
function isVouchedFor({ now_ms, seen_ms }: ClockFact): boolean {
  return seen_ms !== null && Math.abs(now_ms - seen_ms) <= STEP_MIN_MS;
}

async function recordStep(transaction: Queries, era: number): Promise<void> {
  const operator = await operatorOrganization(transaction);
  if (operator === undefined) return;
  await recordOwnActs(transaction, { service: "clock", action: "clock.step", resource: "clock" }, [
    { id: `era-${era}`, org_id: operator },
  ]);
}
