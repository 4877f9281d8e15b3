// Empties hosts that are to be drained, and carries on with every move under way, also those that another replica began. An activation lasts as long as anything
// is on its way, and looks around meanwhile: a long transfer does not keep other moves from the last step, before which a guest stands still.

import { setTimeout as sleep } from "node:timers/promises";
import { beginMove, type Departure } from "./begin-move.ts";
import { beginSavedMove } from "./begin-saved-move.ts";
import { runMove } from "./run-move.ts";
import type { Context } from "../context.ts";
import {
  countMovesFrom,
  drainingHosts,
  dueMoves,
  movableVms,
  postponeMove,
  setBlockedReason,
  type DrainingHost,
  type MoveRow,
} from "./move-store.ts";
import { movableSaved } from "./saved-move-store.ts";
import { reportOf, type BackgroundService } from "../background/background-service.ts";

export { sweepMoves } from "./move-store.ts";

const SERVICE = "mover";
/** From one host: a move takes its disks and its network, which its other VMs notice. */
const AT_ONCE = 3;
/** VMs of one host that are looked at: behind one that fits nowhere there may be smaller ones. */
const CANDIDATES = 32;
/** What is free elsewhere changes without a message. */
const WAITING_LOOK_MS = 5_000;
/** A VM that is being created settles, one that could not be moved is tried again. */
const SETTLING_LOOK_MS = 1_000;

export function mover(context: Context, everyMs: number): BackgroundService {
  return {
    name: SERVICE,
    everyMs,
    async activate(stop) {
      const hand = new Hand(context, stop);
      let drains: Drains;
      try {
        do {
          drains = await beginMoves(context);
          for (const move of await dueMoves(context.db, hand.ids)) hand.take(move);
          await hand.wait(SETTLING_LOOK_MS);
          // The last one may have left.
          if (drains !== "none") context.wake("host-drain");
        } while (hand.ids.length > 0 && !stop.aborted);
      } finally {
        await hand.empty();
      }
      const { results } = hand;
      const moved = results.some((result) => result.status === "fulfilled" && result.value.status === "done");
      const report = reportOf(results, { examined: results.length, more: moved });
      if (drains === "none" && results.length === 0) return report;
      return { ...report, nextMs: drains === "wait" ? WAITING_LOOK_MS : SETTLING_LOOK_MS };
    },
  };
}

/** The moves that this activation carries on with. */
class Hand {
  readonly results: PromiseSettledResult<MoveRow>[] = [];
  readonly #context: Context;
  readonly #stop: AbortSignal;
  readonly #moves = new Map<string, Promise<unknown>>();

  constructor(context: Context, stop: AbortSignal) {
    this.#context = context;
    this.#stop = stop;
  }

  get ids(): string[] {
    return [...this.#moves.keys()];
  }

  take(move: MoveRow): void {
    const work = this.#runMove(move).then(
      (value) => this.results.push({ status: "fulfilled", value }),
      (reason: unknown) => this.results.push({ status: "rejected", reason }),
    );
    this.#moves.set(
      move.id,
      work.finally(() => this.#moves.delete(move.id)),
    );
  }

  /** Resolves when one of them has ended, there are none, or the time is over. */
  async wait(ms: number): Promise<void> {
    if (this.#moves.size === 0) return;
    const waiting = new AbortController();
    const time = sleep(ms, undefined, { signal: waiting.signal }).catch(() => undefined);
    await Promise.race([time, ...this.#moves.values()]);
    waiting.abort();
  }

  async empty(): Promise<void> {
    await Promise.allSettled(this.#moves.values());
  }

  async #runMove(move: MoveRow): Promise<MoveRow> {
    try {
      return await runMove(this.#context, move, { service: SERVICE, stop: this.#stop });
    } catch (error) {
      await postponeMove(this.#context.db, move);
      throw error;
    }
  }
}

/** What draining hosts are at: none is, all their VMs have somewhere to go, or one has not. */
type Drains = "none" | "go on" | "wait";

async function beginMoves(context: Context): Promise<Drains> {
  const draining = await drainingHosts(context.db);
  let drains: Drains = draining.length === 0 ? "none" : "go on";
  for (const host of draining) if (await waitsAfterBeginning(context, host)) drains = "wait";
  return drains;
}

/** True where something has nowhere to go. */
async function waitsAfterBeginning(context: Context, host: DrainingHost): Promise<boolean> {
  let free = AT_ONCE - (await countMovesFrom(context.db, host.id));
  if (free <= 0) return false;
  let waitsFor: string | null = null;
  for (const begin of await candidates(context, host)) {
    if (free <= 0) break;
    const begun = await begin();
    if (begun.kind === "begun") free -= 1;
    if (begun.kind === "waits") waitsFor ??= begun.waitsFor;
  }
  await setBlockedReason(context.db, host.id, waitsFor);
  return waitsFor !== null;
}

/** What runs comes first: its room is wanted. */
async function candidates(context: Context, host: DrainingHost): Promise<(() => Promise<Departure>)[]> {
  const vms = await movableVms(context.db, host.id, CANDIDATES);
  const saved = await movableSaved(context.db, host.id, CANDIDATES);
  return [
    ...vms.map((vm) => () => beginMove(context, vm, host)),
    ...saved.map((one) => () => beginSavedMove(context, one, host)),
  ];
}
