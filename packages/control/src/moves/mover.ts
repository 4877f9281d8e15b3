// Empties hosts that are to be drained, and carries on with every move under way, also those that another replica began. An activation lasts as long as anything
// is on its way, and looks around meanwhile: a long transfer does not keep other moves from the last step, before which a guest stands still.

import { setTimeout as sleep } from "node:timers/promises";
import { beginMove, type Departure } from "./begin-move.ts";
import { beginSavedMove } from "./begin-saved-move.ts";
import { runMove } from "./run-move.ts";
import type { Context } from "../context.ts";
import { setWaitsFor } from "../hosts/host-rows.ts";
import {
  countMovesFrom,
  drainingHosts,
  dueMoves,
  movableVms,
  postponeMove,
  type DrainingHost,
  type MoveRow,
} from "./move-store.ts";
import { movableSaved, type MovableSaved } from "./saved-move-store.ts";
import { reportOf, type BackgroundService } from "../background/background-service.ts";

const SERVICE = "mover";
/** From one host: a move takes its disks and its network, which its other VMs notice. */
const AT_ONCE = 3;
/** VMs of one host that are looked at, and as many saved guests: behind one that fits nowhere there may be smaller ones. */
const CANDIDATES = 32;
/** What is free elsewhere changes without a message. */
const WAITING_LOOK_MS = 5_000;
/** A VM that is being created settles, one that could not be moved is tried again. */
const SETTLING_LOOK_MS = 1_000;

export function mover(context: Context, everyMs: number): BackgroundService {
  const drain = new Drain(context);
  return {
    name: SERVICE,
    everyMs,
    async activate(stop) {
      const hand = new Hand(context, stop);
      let drains: Drains;
      try {
        do {
          drains = await drain.beginMoves();
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
      await postponeMove(this.#context.db, move, error);
      throw error;
    }
  }
}

/** What draining hosts are at: none is, all their VMs have somewhere to go, or one has not. */
type Drains = "none" | "go on" | "wait";

/** Begins the moves that empty draining hosts. */
class Drain {
  readonly #context: Context;
  /** The last saved guest of a host that was looked at, while there may be more behind it: those that can go nowhere do not keep others from leaving. */
  readonly #lookedAt = new Map<string, string>();

  constructor(context: Context) {
    this.#context = context;
  }

  async beginMoves(): Promise<Drains> {
    const draining = await drainingHosts(this.#context.db);
    const ids = new Set(draining.map(({ id }) => id));
    for (const id of this.#lookedAt.keys()) if (!ids.has(id)) this.#lookedAt.delete(id);
    let drains: Drains = draining.length === 0 ? "none" : "go on";
    for (const host of draining) if (await this.#waitsAfterBeginning(host)) drains = "wait";
    return drains;
  }

  /** True where something has nowhere to go, and nothing is left that was not looked at. */
  async #waitsAfterBeginning(host: DrainingHost): Promise<boolean> {
    const { db } = this.#context;
    const free = AT_ONCE - (await countMovesFrom(db, host.id));
    if (free <= 0) return false;
    const after = this.#lookedAt.get(host.id) ?? "";
    const saved = await movableSaved(db, host.id, { after, limit: CANDIDATES });
    const isLast = saved.length < CANDIDATES;
    const { isFull, waitsFor } = await beginSome(await this.#candidates(host, saved), free);
    // Where no more may be under way the same ones are looked at again: not all of them may have been.
    if (!isFull) this.#remember(host.id, isLast ? undefined : saved.at(-1));
    // Of those before and behind nothing is known.
    if (waitsFor !== null || (after === "" && isLast)) await setWaitsFor(db, host.id, waitsFor);
    return waitsFor !== null && (isFull || isLast);
  }

  #remember(hostId: string, last: MovableSaved | undefined): void {
    if (last === undefined) this.#lookedAt.delete(hostId);
    else this.#lookedAt.set(hostId, last.id);
  }

  /** What runs comes first: its room is wanted. */
  async #candidates(
    host: DrainingHost,
    saved: readonly MovableSaved[],
  ): Promise<(() => Promise<Departure>)[]> {
    const context = this.#context;
    const vms = await movableVms(context.db, host.id, CANDIDATES);
    return [
      ...vms.map((vm) => () => beginMove(context, vm, host)),
      ...saved.map((one) => () => beginSavedMove(context, one, host)),
    ];
  }
}

interface Begun {
  /** As many moves are under way as may be. */
  readonly isFull: boolean;
  /** What the first that has nowhere to go waits for. */
  readonly waitsFor: string | null;
}

/** Begins no more moves than are free. */
async function beginSome(candidates: readonly (() => Promise<Departure>)[], free: number): Promise<Begun> {
  let left = free;
  let waitsFor: string | null = null;
  for (const begin of candidates) {
    if (left === 0) break;
    const begun = await begin();
    if (begun.kind === "begun") left -= 1;
    if (begun.kind === "waits") waitsFor ??= begun.waitsFor;
  }
  return { isFull: left === 0, waitsFor };
}
