// Halts the vCPUs of a guest in which no process is left, until the next operation on it. A halted guest
// takes no CPU; an idle one takes 0.6 % of a core (emulated; for its timer and for QEMU's main loop).
//
// Every operation on a guest calls `use` first, so a move also waits here until no operation is under way, and it is known
// here for how long a guest has not been used. An execution that runs on without a reader uses it as well; a process that a
// command has left behind does not.

import { setTimeout as sleep } from "node:timers/promises";
import { SkerryError } from "@skerry/contract/errors";
import type { Logger } from "pino";
import { isIdle, wakeGuest } from "../../guest/agent.ts";
import { listExecutions } from "../../guest/executions.ts";
import type { LiveVm } from "../start/clone.ts";

/** From the last operation to the first question whether the guest is idle. The interval doubles as long
 *  as a process runs in the guest, because the question costs the guest a fork. It is longer than the two
 *  seconds in which the guest's kernel reports freed memory. */
const FIRST_QUESTION_MS = 3_000;
const QUESTION_INTERVAL_MAX_MS = 60_000;
/** Includes the time that QEMU needs to write the guest's data to a slow disk before it can resume. */
const WAKE_DEADLINE_MS = 60_000;
/** How long an operation waits while a move holds the guest. */
const HELD_WAIT_MS = 30_000;
const HELD_WAITERS_MAX = 64;
const HELD_RETRY_AFTER_S = 2;

/** The guest's vCPUs are stopped, and nothing else stops or resumes them. */
export interface Standstill {
  /** Lets the guest go on as it was, its clock stepped. Without it the guest stands still for good. */
  goOn(): Promise<void>;
}

/** No operation is under way in the guest, and none begins, until the hold is released. */
export interface Hold {
  /** The guest's vCPUs are stopped, because no process is left in it. */
  readonly isPaused: boolean;
  release(): void;
}

export class GuestHalt {
  readonly #live: LiveVm;
  readonly #log: Logger;
  #users = 0;
  /** Those of the users that are health checks, which are no use of the guest. */
  #probes = 0;
  /** All that there ever were: where it is another number, what the guest said before means nothing any more. */
  #uses = 0;
  #isPaused = false;
  #timer: NodeJS.Timeout | undefined;
  /** When the guest was last seen in use, by `performance`. */
  #lastUseMs = performance.now();
  /** What the guest has last said, since that use: whether an execution runs in it. */
  #runsExecution: boolean | undefined;
  /** Pauses and resumes run one after the other. */
  #last: Promise<void> = Promise.resolve();
  /** Present while a move holds the guest: new operations wait for it. */
  #held: PromiseWithResolvers<void> | undefined;
  #waiters = 0;
  #noUsers: PromiseWithResolvers<void> | undefined;
  /** Tell operations that could last for ever that the guest is held. */
  readonly #leavers = new Set<() => void>();

  /** `atOnce`: pause now, without asking the guest; only where nothing has run in it yet. */
  constructor(live: LiveVm, log: Logger, { atOnce }: { readonly atOnce: boolean }) {
    this.#live = live;
    this.#log = log;
    if (atOnce)
      this.#enqueue(() => this.#stop(this.#uses)).catch((error: unknown) => this.#logFailedPause(error));
    else this.#askIn(FIRST_QUESTION_MS);
    void live.channel.closed.then(() => clearTimeout(this.#timer));
  }

  /** Its vCPUs are stopped, or about to be for a move. */
  get isStill(): boolean {
    return this.#isPaused || this.#held !== undefined;
  }

  /** For how long nothing has used the guest, in milliseconds. Undefined while something does, and until the guest has said
   *  that no execution runs in it. An execution's end is seen with the next question, so this is never too long by more than
   *  the time until the first one. */
  get unusedMs(): number | undefined {
    if (this.#users > this.#probes || this.#runsExecution !== false) return undefined;
    return performance.now() - this.#lastUseMs;
  }

  /** Resumes the guest if it is paused, and keeps it running until the returned value is disposed of. */
  async use(): Promise<Disposable> {
    const endMs = performance.now() + HELD_WAIT_MS;
    while (this.#held !== undefined) await this.#waitForRelease(this.#held.promise, endMs);
    this.#users += 1;
    this.#uses += 1;
    this.#runsExecution = undefined;
    clearTimeout(this.#timer);
    try {
      await this.#enqueue(() => this.#wake());
    } catch (error) {
      this.#release();
      throw new SkerryError("vm_not_running", "The microVM does not go on after a pause.", { cause: error });
    }
    return { [Symbol.dispose]: () => this.#release() };
  }

  /** `leave` is called when a move holds the guest, and has the operation end soon. */
  async useUntilHeld(leave: () => void): Promise<Disposable> {
    const use = await this.use();
    this.#leavers.add(leave);
    // The hold may have begun while the guest was woken.
    if (this.#held !== undefined) leave();
    return {
      [Symbol.dispose]: () => {
        this.#leavers.delete(leave);
        use[Symbol.dispose]();
      },
    };
  }

  /**
   * The same for a health check: the guest stays as unused as it was, and is paused again where it was.
   * Throws where a  move holds the guest.
   */
  async probe(leave: () => void): Promise<Disposable> {
    if (this.#held !== undefined) throw moving();
    const wasPaused = this.#isPaused;
    this.#users += 1;
    this.#probes += 1;
    this.#leavers.add(leave);
    const release = (): void => {
      this.#leavers.delete(leave);
      this.#users -= 1;
      this.#probes -= 1;
      if (this.#users > 0) return;
      this.#noUsers?.resolve();
      this.#noUsers = undefined;
      if (wasPaused) this.#askIn(FIRST_QUESTION_MS);
    };
    try {
      await this.#enqueue(() => this.#wake());
    } catch (error) {
      release();
      throw new SkerryError("vm_not_running", "The microVM does not go on after a pause.", { cause: error });
    }
    return { [Symbol.dispose]: release };
  }

  /** Resolves when no operation is under way. For `patienceMs` new operations may still begin; after that
   *  they wait. None is aborted. */
  async hold({ patienceMs, signal }: { patienceMs: number; signal: AbortSignal }): Promise<Hold> {
    if (this.#held !== undefined) throw new Error("the guest is held already");
    const patience = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]);
    while (this.#users > 0 && !patience.aborted) await this.#operationsEnded(patience);
    signal.throwIfAborted();
    const held = Promise.withResolvers<void>();
    this.#held = held;
    for (const leave of this.#leavers) leave();
    try {
      while (this.#users > 0) {
        await this.#operationsEnded(signal);
        signal.throwIfAborted();
      }
      clearTimeout(this.#timer);
      // A pause that was queued before the hold has now happened, or has been skipped.
      await this.#enqueue(() => Promise.resolve());
    } catch (error) {
      this.#endHold(held);
      throw error;
    }
    return { isPaused: this.#isPaused, release: () => this.#endHold(held) };
  }

  /** Stops the guest in the middle of what it does. Operations that are under way wait. */
  async standStill(): Promise<Standstill> {
    if (this.#held !== undefined) throw moving();
    const stopped = Promise.withResolvers<void>();
    const over = Promise.withResolvers<void>();
    const queued = this.#enqueue(async () => {
      if (!this.#isPaused) await this.#live.qmp.execute("stop");
      stopped.resolve();
      await over.promise;
      await this.#live.qmp.execute("cont", {}, WAKE_DEADLINE_MS);
      // One at rest too: a QEMU whose state was saved saves none again before it has run.
      if (this.#isPaused) await this.#live.qmp.execute("stop");
      else await wakeGuest(this.#live.channel);
    });
    await Promise.race([stopped.promise, queued]);
    return {
      goOn: () => {
        over.resolve();
        return queued;
      },
    };
  }

  #endHold(held: PromiseWithResolvers<void>): void {
    if (this.#held !== held) return;
    this.#held = undefined;
    held.resolve();
    if (this.#users === 0) this.#askIn(FIRST_QUESTION_MS);
  }

  async #waitForRelease(released: Promise<void>, endMs: number): Promise<void> {
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

  /** Resolves when the last operation ends, or when the signal aborts. */
  async #operationsEnded(signal: AbortSignal): Promise<void> {
    this.#noUsers ??= Promise.withResolvers();
    const { promise, resolve } = Promise.withResolvers<void>();
    const listener = (): void => resolve();
    signal.addEventListener("abort", listener, { once: true });
    if (signal.aborted) listener();
    await Promise.race([this.#noUsers.promise, promise]);
    signal.removeEventListener("abort", listener);
  }

  #release(): void {
    this.#users -= 1;
    if (this.#users > 0) return;
    this.#lastUseMs = performance.now();
    this.#noUsers?.resolve();
    this.#noUsers = undefined;
    this.#askIn(FIRST_QUESTION_MS);
  }

  #askIn(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#pauseIfIdle(ms).catch((error: unknown) => this.#logFailedPause(error));
    }, ms);
    this.#timer.unref();
  }

  /** Only logged: the next operation on the guest fails with the cause. */
  #logFailedPause(error: unknown): void {
    this.#log.debug({ err: error }, "an idle guest could not be paused");
  }

  async #pauseIfIdle(ms: number): Promise<void> {
    if (this.#held !== undefined) return;
    const uses = this.#uses;
    const idle = await isIdle(this.#live.channel);
    if (this.#uses !== uses) return;
    if (idle) {
      this.#noteExecutions(false);
      return this.#enqueue(() => this.#stop(uses));
    }
    const executions = await listExecutions(this.#live.channel);
    if (this.#uses !== uses) return;
    this.#noteExecutions(executions.some(({ exit }) => exit === null));
    this.#askIn(Math.min(2 * ms, QUESTION_INTERVAL_MAX_MS));
  }

  #noteExecutions(run: boolean): void {
    // One that ran when the guest was last asked has ended since.
    if (run || this.#runsExecution === true) this.#lastUseMs = performance.now();
    this.#runsExecution = run;
  }

  async #stop(uses: number): Promise<void> {
    if (this.#uses !== uses || this.#held !== undefined) return;
    // Only checks came since the question, and the next one may be far off.
    if (this.#users > 0) return this.#askIn(FIRST_QUESTION_MS);
    this.#isPaused = true;
    this.#runsExecution ??= false;
    await this.#live.qmp.execute("stop");
  }

  async #wake(): Promise<void> {
    if (!this.#isPaused) return;
    await this.#live.qmp.execute("cont", {}, WAKE_DEADLINE_MS);
    await wakeGuest(this.#live.channel);
    this.#isPaused = false;
  }

  #enqueue(work: () => Promise<void>): Promise<void> {
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
