// Network slots. A slot is a namespace of its own with the guest's TAP, one link to this machine, an address
// pair of the host's range, and rules that pass nothing until a policy is loaded. A few are kept ready, so
// that taking one costs nothing; one that was used is removed with everything in it, and its number waits
// behind all others before it is used again.

import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { GUEST_CONNECTIONS_MAX } from "@skerry/contract/hosts/connection-share";
import type { AddressRange } from "./addresses.ts";
import { ConntrackFlush } from "./conntrack-flush.ts";
import { loadRules, netnsFileOf, startLoadingRules } from "./netns-exec.ts";
import { isSilent, linkNames, makeSlot, namespaceNames, removeSlot, type Slot } from "./slot.ts";
import type { StartedProgram } from "../system/run.ts";

/** Longer than the rules of a new sandbox take to load. */
const REFILL_DELAY_MS = 100;
/** An `nft` process waits in each of the slots that are taken next; this is their number. */
const LOADERS = 4;
/** After a failed preparation; the next take tries again at once. */
const REFILL_PAUSE_MS = 5_000;

export class SlotsExhausted extends Error {
  override readonly name = "SlotsExhausted";
}

export interface SlotsOptions {
  /** What the namespaces are named after: keeps several hosts on one machine apart. */
  readonly prefix: string;
  /** What the links are named after; with the number it may have 15 characters. */
  readonly linkPrefix: string;
  readonly range: AddressRange;
  /** The program `native/conntrack-flush.c`. */
  readonly conntrackFlush: string;
  /** The program `native/netns-exec.c`. */
  readonly netnsExec: string;
  readonly log: Pick<Logger, "warn">;
  /** How many connections a guest may have at once; undefined: as many as any may. */
  readonly connections?: number;
  /** How many are kept ready once `fill` was called. */
  readonly ready: number;
  /** Whether a VM is being created: slots for later are made only while none is. */
  readonly isBusy?: () => boolean;
  /** Called with the address of a slot that is being removed. */
  readonly onClose?: (address: string) => Promise<void>;
}

export class Slots {
  readonly #options: SlotsOptions;
  /** In use, being prepared, ready, or being removed. */
  readonly #busy = new Set<number>();
  readonly #ready: number[] = [];
  /** Released numbers, longest ago first. */
  readonly #returned = new Set<number>();
  #next = 0;
  /** Prepared slots that were taken and not opened yet. */
  readonly #made = new Set<number>();
  /** The `nft` processes that wait in ready slots for their first rules. */
  readonly #loaders = new Map<number, StartedProgram>();
  #filling: Promise<void> | undefined;
  #pausedUntilMs = 0;
  #keptReady = 0;
  readonly #connections: ConntrackFlush;

  constructor(options: SlotsOptions) {
    this.#options = options;
    this.#connections = new ConntrackFlush(options.conntrackFlush, options.log);
  }

  /** The number of slots of the range. */
  get capacity(): number {
    return this.#options.range.slots;
  }

  /** Whether no slot is free. */
  get exhausted(): boolean {
    return this.#ready.length === 0 && this.#busy.size >= this.capacity;
  }

  /** How many slots the warm pool may hold when it holds `held`: an eighth of all, and fewer where fewer
   *  are free. */
  spare(held: number): number {
    const share = Math.floor(this.capacity / 8);
    const free = this.capacity - this.#busy.size + this.#ready.length;
    return Math.max(0, Math.min(share, held + free - share));
  }

  slot(number: number): Slot {
    const { prefix, linkPrefix, netnsExec } = this.#options;
    const netns = `${prefix}-${number}`;
    return { number, netns, netnsFile: netnsFileOf(netns), netnsExec, link: `${linkPrefix}-${number}` };
  }

  /** A ready slot where there is one, otherwise one for which nothing exists yet; `open` makes up for it. */
  take(): Slot {
    const number = this.#ready.shift() ?? this.#unused();
    if (number === undefined) throw new SlotsExhausted(`all ${this.capacity} network slots are taken`);
    this.#busy.add(number);
    this.#refill();
    return this.slot(number);
  }

  /** Marks the slot of a VM that is already running. */
  adopt(number: number): void {
    this.#busy.add(number);
  }

  /** Makes namespace, links and closed rules, unless the slot was kept ready. */
  async open(slot: Slot): Promise<void> {
    if (!this.#made.delete(slot.number)) await this.#make(slot);
  }

  /** Loads rules into a slot that has just been taken, without the time that a program takes to start, if
   *  it was a ready one. */
  async loadFirst(slot: Slot, script: string): Promise<void> {
    const loader = this.#takeLoader(slot.number);
    if (loader?.waits === true) await loader.finish(script);
    else await loadRules(script, slot);
  }

  /** Removes the slot with everything in it, and only then frees the number. A slot that does not exist is
   *  no error. */
  async close(slot: Slot): Promise<void> {
    this.#takeLoader(slot.number)?.kill();
    if (slot.number < this.capacity)
      await this.#options.onClose?.(this.#options.range.pair(slot.number).slot);
    const silent = await isSilent(slot);
    await removeSlot(slot);
    if (!silent) this.#flushSoon(slot);
    this.#made.delete(slot.number);
    if (!this.#busy.delete(slot.number)) return;
    this.#returned.add(slot.number);
    this.#refill();
  }

  /** Removes the namespaces and links of a killed host process whose slots no VM has. Resolves with how
   *  many were removed. One that cannot be is told, and its slot stays taken: no VM gets it. */
  async sweep(): Promise<number> {
    const isFree = (number: number): boolean => !this.#busy.has(number);
    const left = [...(await this.#existing())].filter(isFree);
    let removed = 0;
    for (const number of left) {
      try {
        await this.close(this.slot(number));
        removed += 1;
      } catch (error) {
        if (number < this.capacity) this.adopt(number);
        this.#options.log.warn({ err: error, slot: number }, "what is left of a network slot stays");
      }
    }
    // The killed process may have removed slots without flushing their connections.
    for (const number of Array(this.capacity).keys()) if (isFree(number)) this.#flushSoon(this.slot(number));
    await this.#connections.allForgotten();
    return removed;
  }

  /** From now on keeps some slots ready; prepares them one after the other in the background. */
  fill(): void {
    this.#keptReady = this.#options.ready;
    this.#refill();
  }

  /** Stops preparing slots. Ready ones stay, and the next host process removes them. */
  async stop(): Promise<void> {
    this.#keptReady = 0;
    await this.#filling;
    for (const number of [...this.#loaders.keys()]) this.#takeLoader(number)?.kill();
    // Failures are logged, and the next host process repeats the removal.
    await this.#connections.allForgotten().catch(() => undefined);
  }

  /** Stops, and removes the ready ones. */
  async drain(): Promise<void> {
    await this.stop();
    for (const number of this.#ready.splice(0)) await this.close(this.slot(number));
    await this.#connections.allForgotten();
  }

  /** The kernel has no connections of the slot that had this number before. */
  async #make(slot: Slot): Promise<void> {
    const addresses = this.#options.range.pair(slot.number);
    await this.#connections.flushed(addresses.slot);
    await makeSlot(slot, addresses, this.#options.connections ?? GUEST_CONNECTIONS_MAX);
  }

  /** ConntrackFlush inside the slot ended with it; these are this machine's own, which it translates. */
  #flushSoon({ number }: Slot): void {
    // A number beyond the range comes from a host process with a larger range.
    if (number < this.capacity) this.#connections.flushSoon(this.#options.range.pair(number).slot);
  }

  #takeLoader(number: number): StartedProgram | undefined {
    const loader = this.#loaders.get(number);
    this.#loaders.delete(number);
    return loader;
  }

  #unused(): number | undefined {
    while (this.#next < this.capacity) {
      const number = this.#next;
      this.#next += 1;
      if (!this.#busy.has(number) && !this.#returned.has(number)) return number;
    }
    const [oldest] = this.#returned;
    if (oldest !== undefined) this.#returned.delete(oldest);
    return oldest;
  }

  #refill(): void {
    if (this.#filling !== undefined || performance.now() < this.#pausedUntilMs) return;
    // A VM that has just taken a slot loads rules into it, and the kernel loads one rule set at a time.
    this.#filling = sleep(REFILL_DELAY_MS)
      .then(() => {
        this.#startLoaders();
        return this.#makeReady();
      })
      .finally(() => (this.#filling = undefined));
  }

  async #makeReady(): Promise<void> {
    while (this.#ready.length < this.#keptReady) {
      if (this.#options.isBusy?.() === true) {
        await sleep(REFILL_DELAY_MS);
        continue;
      }
      const number = this.#unused();
      if (number === undefined) return;
      this.#busy.add(number);
      const slot = this.slot(number);
      try {
        await this.#make(slot);
      } catch {
        // The next VM that needs a slot meets the same failure and reports it.
        this.#pausedUntilMs = performance.now() + REFILL_PAUSE_MS;
        await this.close(slot).catch(() => undefined);
        return;
      }
      this.#made.add(number);
      this.#ready.push(number);
      this.#startLoaders();
    }
  }

  /** Starts `nft` in the slots that are taken next; in none after `stop`. */
  #startLoaders(): void {
    for (const number of this.#ready.slice(0, Math.min(LOADERS, this.#keptReady))) {
      if (!this.#loaders.has(number)) this.#loaders.set(number, startLoadingRules(this.slot(number)));
    }
  }

  async #existing(): Promise<Set<number>> {
    const { prefix, linkPrefix } = this.#options;
    const numbered = (names: readonly string[], start: string): number[] =>
      names
        .filter((name) => name.startsWith(`${start}-`) && /^\d{1,4}$/.test(name.slice(start.length + 1)))
        .map((name) => Number(name.slice(start.length + 1)));
    return new Set([...numbered(await namespaceNames(), prefix), ...numbered(await linkNames(), linkPrefix)]);
  }
}
