// A guest in which no process is left stands still until somebody wants something of it: then it takes no CPU, where an idle guest
// takes 0.6 % of a core (emulated; for its timer and for QEMU's main loop).

import { SkerryError } from "@skerry/contract/errors";
import type { Logger } from "pino";
import { isIdle, wakeGuest } from "../guest/agent.ts";
import type { LiveVm } from "./clone.ts";

/** After the last operation; then, while something still runs in the guest, twice as long each time. Asking costs the guest a fork. */
const FIRST_LOOK_MS = 2_000;
const LOOK_MAX_MS = 60_000;

export class Rest {
  readonly #live: LiveVm;
  readonly #log: Logger;
  #users = 0;
  #rests = false;
  #timer: NodeJS.Timeout | undefined;
  /** One change after the other. */
  #last: Promise<void> = Promise.resolve();

  constructor(live: LiveVm, log: Logger) {
    this.#live = live;
    this.#log = log;
    this.#lookIn(FIRST_LOOK_MS);
    void live.channel.closed.then(() => clearTimeout(this.#timer));
  }

  /** Resolves when the guest runs, and keeps it running until it is disposed of. */
  async use(): Promise<Disposable> {
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

  #release(): void {
    this.#users -= 1;
    if (this.#users === 0) this.#lookIn(FIRST_LOOK_MS);
  }

  #lookIn(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#look(ms).catch((error: unknown) => {
        // Whoever uses the guest next hears of what is wrong with it.
        this.#log.debug({ err: error }, "a guest could not be put to rest");
      });
    }, ms);
    this.#timer.unref();
  }

  async #look(ms: number): Promise<void> {
    const idle = await isIdle(this.#live.channel);
    if (this.#users > 0) return;
    if (!idle) return this.#lookIn(Math.min(2 * ms, LOOK_MAX_MS));
    await this.#turn(() => this.#stop());
  }

  async #stop(): Promise<void> {
    if (this.#users > 0) return;
    this.#rests = true;
    await this.#live.qmp.execute("stop");
  }

  async #wake(): Promise<void> {
    if (!this.#rests) return;
    await this.#live.qmp.execute("cont");
    await wakeGuest(this.#live.channel);
    this.#rests = false;
  }

  #turn(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }
}
