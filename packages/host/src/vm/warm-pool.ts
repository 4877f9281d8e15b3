// Clones that wait, restored and warmed up, so that creating a VM is handing one over. A waiting clone stands still: it takes memory and no
// CPU. It has nobody's identity, and its slot passes nothing. On disk it is a VM whose creation has not ended, so a host that was
// killed removes it like any other, and nobody else needs to know that there is a pool.

import { randomBytes } from "node:crypto";
import { addAbortListener } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Size } from "@skerry/contract/sizes";
import type { Logger } from "pino";
import { runCommand } from "../guest/agent.ts";
import { NO_EGRESS } from "../network/egress.ts";
import type { TemplateLibrary } from "../templates/library.ts";
import { giveIdentity, restoreClone, resume, type LiveVm } from "./clone.ts";
import { giveBack, makeFolder, type MachineRoom } from "./instance.ts";
import { saveRecord, type VmRecord } from "./record.ts";
import { DEMAND_WINDOW_MS, warmTargets, type Kind } from "./warm-targets.ts";

/** Folder names of waiting clones begin with it, and no id of a VM does. */
const WARM_PREFIX = "warm_";
/** Emulated, a program's first start takes ten times as long as its second. */
const WARM_UP_COMMAND = "true";
const WARM_UP_DEADLINE_MS = 10_000;
/** After a take, so that the guest that was handed over has the CPU to itself at first. */
const REFILL_DELAY_MS = 250;
/** Between two looks at demand and memory when nothing happens. */
const REVIEW_MS = 10_000;
/** After a clone could not be made. */
const RETRY_MS = 5_000;
/** Times that are remembered of one kind. */
const TAKES_MAX = 1_000;

export interface WarmPoolOptions {
  readonly room: MachineRoom;
  readonly library: TemplateLibrary;
  readonly vmsFolder: string;
  readonly instance: string;
  readonly log: Logger;
  /** Clones of one kind at most; 0 for no pool. */
  readonly max: number;
  /** Kept of `favorite` even if nobody asks for it. */
  readonly min: number;
  readonly favorite: { readonly template: string; readonly size: Size } | undefined;
  /** Memory that waiting guests may have now, MiB. */
  readonly memoryMib: () => Promise<number>;
  /** Somebody waits for a VM: the CPU is for that one. */
  readonly isBusy: () => boolean;
}

/** A clone that nobody has taken yet. */
export interface WarmVm {
  readonly record: VmRecord;
  readonly live: LiveVm;
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
  #bell = Promise.withResolvers<void>();
  #running: Promise<void> | undefined;
  #taken = 0;
  #missed = 0;

  constructor(options: WarmPoolOptions) {
    this.#options = options;
    const { favorite, min } = options;
    if (favorite !== undefined) this.#shelf(favorite.template, favorite.size, min);
  }

  /** How many wait. */
  get size(): number {
    return [...this.#shelves.values()].reduce((total, shelf) => total + shelf.waiting.length, 0);
  }

  /** How many wait, and how often one was there when it was asked for, or was not. */
  get counts(): { readonly waiting: number; readonly taken: number; readonly missed: number } {
    return { waiting: this.size, taken: this.#taken, missed: this.#missed };
  }

  /** One that waits, for its taker alone; undefined where none does. Either way it counts as demand. */
  take(template: string, size: Size): WarmVm | undefined {
    if (this.#running === undefined) return undefined;
    const shelf = this.#shelf(template, size, 0);
    shelf.takenAtMs = [...shelf.takenAtMs.slice(1 - TAKES_MAX), performance.now()];
    const taken = shelf.waiting.shift();
    if (taken === undefined) this.#missed += 1;
    else this.#taken += 1;
    this.#bell.resolve();
    return taken;
  }

  /** From now on clones are made, one after the other, until `stop`. */
  start(): void {
    if (this.#options.max > 0) this.#running ??= this.#run();
  }

  /** Ends when none waits any more. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#bell.resolve();
    await this.#running;
    this.#running = undefined;
    await this.giveUp(Infinity);
  }

  /** Removes some, those of the rarest kind first: whoever needs what they take comes first. */
  async giveUp(count: number): Promise<void> {
    for (let left = count; left > 0; left -= 1) {
      const [shelf] = [...this.#shelves.values()]
        .filter(({ waiting }) => waiting.length > 0)
        .toSorted((a, b) => a.takenAtMs.length - b.takenAtMs.length);
      const vm = shelf?.waiting.pop();
      if (vm === undefined) return;
      await this.#remove(vm);
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
      await Promise.race([this.#bell.promise, sleep(pauseMs, undefined, { signal }).catch(() => undefined)]);
      this.#bell = Promise.withResolvers();
      do await sleep(REFILL_DELAY_MS, undefined, { signal }).catch(() => undefined);
      while (this.#options.isBusy() && !signal.aborted);
    }
  }

  /** Gives up what is too many, and says what is missing most. */
  async #review(): Promise<Shelf | undefined> {
    const nowMs = performance.now();
    for (const [key, shelf] of this.#shelves) {
      shelf.takenAtMs = shelf.takenAtMs.filter((atMs) => nowMs - atMs < DEMAND_WINDOW_MS);
      if (shelf.takenAtMs.length + shelf.waiting.length + shelf.min === 0) this.#shelves.delete(key);
    }
    const shelves = [...this.#shelves.values()];
    const { max, room, memoryMib } = this.#options;
    // Slots are for those who ask for a VM: the pool takes few, and none when they get short.
    const limits = { max, memoryMib: await memoryMib(), count: room.slots.spare(this.size) };
    const targets = warmTargets(shelves, limits, nowMs);
    const missing = shelves.map((shelf, index) => (targets[index] ?? 0) - shelf.waiting.length);
    for (const [index, shelf] of shelves.entries()) {
      for (let tooMany = -(missing[index] ?? 0); tooMany > 0; tooMany -= 1) {
        const vm = shelf.waiting.pop();
        if (vm !== undefined) await this.#remove(vm);
      }
    }
    const most = Math.max(0, ...missing);
    return most === 0 ? undefined : shelves[missing.indexOf(most)];
  }

  /** Makes one. Resolves with how long to pause then: as long as it took, so that guests keep most of the CPU. */
  async #fill(shelf: Shelf): Promise<number> {
    const startedMs = performance.now();
    try {
      const vm = await this.#make(shelf);
      shelf.waiting.push(vm);
      this.#watch(shelf, vm);
      return performance.now() - startedMs;
    } catch (error) {
      if (this.#stop.signal.aborted) return 0;
      this.#options.log.warn({ err: error, ...shelf.kind }, "no clone could be made ready");
      return RETRY_MS;
    }
  }

  async #make({ kind, size }: Shelf): Promise<WarmVm> {
    const { room, library, vmsFolder, instance } = this.#options;
    const { signal } = this.#stop;
    // The first use of a template takes long, and a host that stops does not wait for it.
    const { frozen, boot } = await unlessAborted(library.frozen(kind.template, size), signal);
    signal.throwIfAborted();
    const id = `${WARM_PREFIX}${randomBytes(8).toString("hex")}`;
    let record: VmRecord = {
      id,
      execution_id: "warm",
      template: kind.template,
      size: kind.size,
      status: "creating",
      reason: null,
      started_at: new Date().toISOString(),
      name: `${instance}:${id}:warm`,
      folder: join(vmsFolder, id),
      slot: room.slots.take().number,
      process: undefined,
      egress: NO_EGRESS,
      egress_version: 1,
    };
    try {
      await makeFolder(record.folder);
      await saveRecord(record);
      const restored = await restoreClone(
        { room, record, size, frozen, boot, isMachine: false, signal },
        async (started) => {
          const below = { root_image: frozen.rootImage, frozen_disk: frozen.disk };
          record = { ...record, process: started.process, below };
          await saveRecord(record);
        },
      );
      const live = await resume(restored);
      await warmUp(live);
      await live.qmp.execute("stop");
      return { record, live };
    } catch (error) {
      await giveBack(room, record);
      throw error;
    }
  }

  /** A clone that ends while it waits is replaced. Once it was taken, its taker watches. */
  #watch(shelf: Shelf, vm: WarmVm): void {
    const ended = (): void => {
      const index = shelf.waiting.indexOf(vm);
      if (index < 0) return;
      shelf.waiting.splice(index, 1);
      this.#options.log.warn({ vm: vm.record.id }, "a waiting clone ended by itself");
      void this.#remove(vm).finally(() => this.#bell.resolve());
    };
    void vm.live.qmp.closed.then(ended);
    void vm.live.channel.closed.then(ended);
  }

  async #remove({ record, live }: WarmVm): Promise<void> {
    live.qmp.close();
    live.channel.close("nobody needs this clone");
    await giveBack(this.#options.room, record).catch((error: unknown) => {
      // The next host process removes it: its record says that it was never finished.
      this.#options.log.error({ err: error, vm: record.id }, "a waiting clone could not be removed");
    });
  }
}

/** The listener goes with the wait: the signal lives as long as the host. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  using _listener = addAbortListener(signal, () => reject(signal.reason as Error));
  return await Promise.race([work, promise]);
}

async function warmUp({ qmp, channel }: LiveVm): Promise<void> {
  try {
    await runCommand(channel, WARM_UP_COMMAND, WARM_UP_DEADLINE_MS);
    await giveIdentity({ qmp, channel }, { hostname: "waiting", env: {} });
  } catch (error) {
    qmp.close();
    channel.close("its warm-up failed");
    throw error;
  }
}
