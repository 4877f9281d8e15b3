// A guest in which no process is left stands still until somebody wants something of it: then it takes no CPU, where an idle guest
// takes 0.6 % of a core (emulated; for its timer and for QEMU's main loop).
//
// Everybody who wants something of a guest passes here, so this is also where a move waits for the moment in which nobody does.

import { setTimeout as sleep } from "node:timers/promises";
import { SkerryError } from "@skerry/contract/errors";
import type { Logger } from "pino";
import { isIdle, wakeGuest } from "../guest/agent.ts";
import type { LiveVm } from "./clone.ts";

/** After the last operation; then, while something still runs in the guest, twice as long each time. Asking costs the guest a fork, and
 *  two seconds after its programs have given memory back its kernel gives it to the host. */
const FIRST_LOOK_MS = 3_000;
const LOOK_MAX_MS = 60_000;
/** A slow disk may still take what the guest wrote before its rest. */
const WAKE_DEADLINE_MS = 60_000;
/** Who comes while the guest is held waits for so long. */
const HELD_WAIT_MS = 30_000;
const HELD_WAITERS_MAX = 64;
const HELD_RETRY_AFTER_S = 2;

/** Nobody is in the guest, and nobody comes in, until it is released. */
export interface Hold {
  /** The guest's vCPUs are stopped, because nothing lives in it. */
  readonly rests: boolean;
  release(): void;
}

export class Rest {
  readonly #live: LiveVm;
  readonly #log: Logger;
  #users = 0;
  #rests = false;
  #timer: NodeJS.Timeout | undefined;
  /** One change after the other. */
  #last: Promise<void> = Promise.resolve();
  /** While it is there, nobody new comes in. */
  #held: PromiseWithResolvers<void> | undefined;
  #waiters = 0;
  #lastLeft: PromiseWithResolvers<void> | undefined;

  /** `atOnce` where nothing has run in the guest yet, so that it need not be asked. */
  constructor(live: LiveVm, log: Logger, { atOnce }: { readonly atOnce: boolean }) {
    this.#live = live;
    this.#log = log;
    if (atOnce) this.#turn(() => this.#stop()).catch((error: unknown) => this.#notAtRest(error));
    else this.#lookIn(FIRST_LOOK_MS);
    void live.channel.closed.then(() => clearTimeout(this.#timer));
  }

  /** Resolves when the guest runs, and keeps it running until it is disposed of. */
  async use(): Promise<Disposable> {
    const endMs = performance.now() + HELD_WAIT_MS;
    while (this.#held !== undefined) await this.#outside(this.#held.promise, endMs);
    this.#users += 1;
    clearTimeout(this.#timer);
    try {
      await this.#turn(() => this.#wake());
    } catch (error) {
      this.#release();
      throw new SkerryError("vm_not_running", "The microVM does not go on after a rest.", { cause: error });
    }
    return { [Symbol.dispose]: () => this.#release() };
  }

  /** Resolves when everybody has left. For `patienceMs` others may still come, after that they wait; nobody is thrown out. */
  async hold({ patienceMs, signal }: { patienceMs: number; signal: AbortSignal }): Promise<Hold> {
    if (this.#held !== undefined) throw new Error("the guest is held already");
    const patience = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]);
    while (this.#users > 0 && !patience.aborted) await this.#leaving(patience);
    signal.throwIfAborted();
    const held = Promise.withResolvers<void>();
    this.#held = held;
    try {
      while (this.#users > 0) {
        await this.#leaving(signal);
        signal.throwIfAborted();
      }
      clearTimeout(this.#timer);
      // A rest that was about to begin has begun or will not.
      await this.#turn(() => Promise.resolve());
    } catch (error) {
      this.#letIn(held);
      throw error;
    }
    return { rests: this.#rests, release: () => this.#letIn(held) };
  }

  #letIn(held: PromiseWithResolvers<void>): void {
    if (this.#held !== held) return;
    this.#held = undefined;
    held.resolve();
    if (this.#users === 0) this.#lookIn(FIRST_LOOK_MS);
  }

  async #outside(released: Promise<void>, endMs: number): Promise<void> {
    const leftMs = endMs - performance.now();
    if (leftMs <= 0 || this.#waiters >= HELD_WAITERS_MAX) throw moving();
    this.#waiters += 1;
    const over = new AbortController();
    try {
      await Promise.race([
        released,
        sleep(leftMs, undefined, { signal: over.signal }).catch(() => undefined),
        this.#live.channel.closed.then(() => {
          throw new SkerryError("stale_execution", "That incarnation of the VM is not here any more.");
        }),
      ]);
    } finally {
      this.#waiters -= 1;
      over.abort();
    }
  }

  /** Until the last one leaves, or the signal comes. */
  async #leaving(signal: AbortSignal): Promise<void> {
    this.#lastLeft ??= Promise.withResolvers();
    const { promise, resolve } = Promise.withResolvers<void>();
    const listener = (): void => resolve();
    signal.addEventListener("abort", listener, { once: true });
    if (signal.aborted) listener();
    await Promise.race([this.#lastLeft.promise, promise]);
    signal.removeEventListener("abort", listener);
  }

  #release(): void {
    this.#users -= 1;
    if (this.#users > 0) return;
    this.#lastLeft?.resolve();
    this.#lastLeft = undefined;
    this.#lookIn(FIRST_LOOK_MS);
  }

  #lookIn(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#look(ms).catch((error: unknown) => this.#notAtRest(error));
    }, ms);
    this.#timer.unref();
  }

  /** Whoever uses the guest next hears of what is wrong with it. */
  #notAtRest(error: unknown): void {
    this.#log.debug({ err: error }, "a guest could not be put to rest");
  }

  async #look(ms: number): Promise<void> {
    if (this.#held !== undefined) return;
    const idle = await isIdle(this.#live.channel);
    if (this.#users > 0) return;
    if (!idle) return this.#lookIn(Math.min(2 * ms, LOOK_MAX_MS));
    await this.#turn(() => this.#stop());
  }

  async #stop(): Promise<void> {
    if (this.#users > 0 || this.#held !== undefined) return;
    this.#rests = true;
    await this.#live.qmp.execute("stop");
  }

  async #wake(): Promise<void> {
    if (!this.#rests) return;
    await this.#live.qmp.execute("cont", {}, WAKE_DEADLINE_MS);
    await wakeGuest(this.#live.channel);
    this.#rests = false;
  }

  #turn(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }
}

function moving(): SkerryError {
  return new SkerryError("vm_moving", "The microVM is being moved to another host.", {
    remediation: "Try again in a moment.",
    retryAfterS: HELD_RETRY_AFTER_S,
  });
}
