// The warm pool: keeps warm clones of each template and size, so that creating a VM takes one of them.
// warm-clones.ts defines a warm clone, and tells what happens to it when its host dies.

import { setTimeout as sleep } from "node:timers/promises";
import type { Size } from "@skerry/contract/sizes";
import type { Logger } from "pino";
import type { WarmClones, WarmVm } from "./warm-clones.ts";
import { DEMAND_WINDOW_MS, warmTargets, type Kind } from "./warm-targets.ts";

/** Pause after a clone was taken, so that its guest gets the CPU first. */
const REFILL_DELAY_MS = 250;
/** Interval between two checks of demand and memory when no clone is taken. */
const REVIEW_MS = 10_000;
/** Pause after a clone could not be made. */
const RETRY_MS = 5_000;
/** Requests that are remembered of one kind. */
const TAKES_MAX = 1_000;

export interface WarmPoolOptions {
  readonly clones: Pick<WarmClones, "make" | "remove">;
  readonly log: Logger;
  /** Clones of one kind at most; 0 for no pool. */
  readonly max: number;
  /** How many clones of `favorite` are kept, also without demand. */
  readonly min: number;
  readonly favorite: { readonly template: string; readonly size: Size } | undefined;
  /** Memory that warm clones may use now, MiB. */
  readonly memoryMib: () => Promise<number>;
  /** How many clones may wait, given how many do: network slots are kept for new VMs. */
  readonly spareSlots: (waiting: number) => number;
  /** Whether a VM is being created: it gets the CPU first. */
  readonly isBusy: () => boolean;
}

interface Shelf {
  readonly kind: Kind;
  readonly size: Size;
  readonly min: number;
  takenAtMs: number[];
  readonly waiting: WarmVm[];
}

export class WarmPool {
  readonly #options: WarmPoolOptions;
  readonly #shelves = new Map<string, Shelf>();
  readonly #stop = new AbortController();
  #wakeup = Promise.withResolvers<void>();
  #running: Promise<void> | undefined;
  #taken = 0;
  #missed = 0;

  constructor(options: WarmPoolOptions) {
    this.#options = options;
    const { favorite, min } = options;
    if (favorite !== undefined) this.#shelf(favorite.template, favorite.size, min);
  }

  /** The number of clones that wait. */
  get size(): number {
    return [...this.#shelves.values()].reduce((total, shelf) => total + shelf.waiting.length, 0);
  }

  /** The number of clones that wait, and how many requests found one or did not. */
  get counts(): { readonly waiting: number; readonly taken: number; readonly missed: number } {
    return { waiting: this.size, taken: this.#taken, missed: this.#missed };
  }

  /** Takes a clone out of the pool; undefined where none waits. Both count as demand. */
  take(template: string, size: Size): WarmVm | undefined {
    if (this.#running === undefined) return undefined;
    const shelf = this.#shelf(template, size, 0);
    shelf.takenAtMs = [...shelf.takenAtMs.slice(1 - TAKES_MAX), performance.now()];
    const taken = shelf.waiting.shift();
    if (taken === undefined) this.#missed += 1;
    else this.#taken += 1;
    this.#wakeup.resolve();
    return taken;
  }

  /** From now on clones are made, one after the other, until `stop`. */
  start(): void {
    if (this.#options.max > 0) this.#running ??= this.#run();
  }

  /** Stops, and resolves when all clones are removed. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#wakeup.resolve();
    await this.#running;
    this.#running = undefined;
    await this.giveUp(Infinity);
  }

  /** Removes some clones, those of the rarest kind first, for a VM that needs their resources. */
  async giveUp(count: number): Promise<void> {
    for (let left = count; left > 0; left -= 1) {
      const [shelf] = [...this.#shelves.values()]
        .filter(({ waiting }) => waiting.length > 0)
        .toSorted((a, b) => a.takenAtMs.length - b.takenAtMs.length);
      const vm = shelf?.waiting.pop();
      if (vm === undefined) return;
      await this.#options.clones.remove(vm);
    }
  }

  #shelf(template: string, size: Size, min: number): Shelf {
    const key = `${template}/${size.name}`;
    const known = this.#shelves.get(key);
    if (known !== undefined) return known;
    const kind = { template, size: size.name, memoryMib: size.memory_mib };
    const shelf: Shelf = { kind, size, min, takenAtMs: [], waiting: [] };
    this.#shelves.set(key, shelf);
    return shelf;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const next = await this.#review();
      const pauseMs = next === undefined ? REVIEW_MS : await this.#fill(next);
      await Promise.race([
        this.#wakeup.promise,
        sleep(pauseMs, undefined, { signal }).catch(() => undefined),
      ]);
      this.#wakeup = Promise.withResolvers();
      do await sleep(REFILL_DELAY_MS, undefined, { signal }).catch(() => undefined);
      while (this.#options.isBusy() && !signal.aborted);
    }
  }

  /** Removes clones above the targets, and returns the kind that is missing most. */
  async #review(): Promise<Shelf | undefined> {
    const nowMs = performance.now();
    for (const [key, shelf] of this.#shelves) {
      shelf.takenAtMs = shelf.takenAtMs.filter((atMs) => nowMs - atMs < DEMAND_WINDOW_MS);
      if (shelf.takenAtMs.length + shelf.waiting.length + shelf.min === 0) this.#shelves.delete(key);
    }
    const shelves = [...this.#shelves.values()];
    const { max, spareSlots, memoryMib } = this.#options;
    const limits = { max, memoryMib: await memoryMib(), count: spareSlots(this.size) };
    const targets = warmTargets(shelves, limits, nowMs);
    const missing = shelves.map((shelf, index) => (targets[index] ?? 0) - shelf.waiting.length);
    for (const [index, shelf] of shelves.entries()) {
      for (let tooMany = -(missing[index] ?? 0); tooMany > 0; tooMany -= 1) {
        const vm = shelf.waiting.pop();
        if (vm !== undefined) await this.#options.clones.remove(vm);
      }
    }
    const most = Math.max(0, ...missing);
    return most === 0 ? undefined : shelves[missing.indexOf(most)];
  }

  /** Makes one clone. Resolves with the pause before the next one: as long as this one took, so that
   *  guests keep most of the CPU. */
  async #fill(shelf: Shelf): Promise<number> {
    const startedMs = performance.now();
    try {
      const vm = await this.#options.clones.make(shelf.kind.template, shelf.size, this.#stop.signal);
      shelf.waiting.push(vm);
      this.#watch(shelf, vm);
      return performance.now() - startedMs;
    } catch (error) {
      if (this.#stop.signal.aborted) return 0;
      this.#options.log.warn({ err: error, ...shelf.kind }, "no clone could be made ready");
      return RETRY_MS;
    }
  }

  /** A clone that ends while it waits is replaced. A clone that was taken is watched by `VmLifecycle`. */
  #watch(shelf: Shelf, vm: WarmVm): void {
    const ended = (): void => {
      const index = shelf.waiting.indexOf(vm);
      if (index < 0) return;
      shelf.waiting.splice(index, 1);
      this.#options.log.warn({ vm: vm.record.id }, "a waiting clone ended by itself");
      void this.#options.clones.remove(vm).finally(() => this.#wakeup.resolve());
    };
    void vm.live.qmp.closed.then(ended);
    void vm.live.channel.closed.then(ended);
  }
}
