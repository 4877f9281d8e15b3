// Flushes the tracked connections of removed slots from the kernel. The kernel goes through its whole table
// for that, also where it is empty, so slots that are removed within a moment share one run of
// `native/conntrack-flush.c`.

import type { Logger } from "pino";
import { runProgram } from "../system/run.ts";

/** Other slots end meanwhile; their connections are flushed together with these. */
const DELAY_MS = 1_000;
/** Pause after a failed run. */
const RETRY_MS = 3_000;
const DEADLINE_MS = 10_000;

export class ConntrackFlush {
  readonly #program: string;
  readonly #log: Pick<Logger, "warn">;
  /** Addresses whose connections are not flushed yet. */
  readonly #left = new Set<string>();
  #run: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(program: string, log: Pick<Logger, "warn">) {
    this.#program = program;
    this.#log = log;
  }

  /** The connections that this address began. No slot may get the address before `flushed` has resolved. */
  flushSoon(address: string): void {
    this.#left.add(address);
    this.#wait(DELAY_MS);
  }

  /** Resolves when the connections of this address are flushed; starts a run at once where they are not. */
  async flushed(address: string): Promise<void> {
    while (this.#left.has(address)) await this.#forget();
  }

  /** Resolves when the connections of all addresses are flushed. */
  async allForgotten(): Promise<void> {
    while (this.#left.size > 0) await this.#forget();
  }

  /** Addresses that are added during a run wait for the next one. */
  #forget(): Promise<void> {
    this.#run ??= this.#runFor([...this.#left]);
    return this.#run;
  }

  async #runFor(addresses: readonly string[]): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    let delayMs = DELAY_MS;
    try {
      await runProgram(this.#program, [], { deadlineMs: DEADLINE_MS, input: addresses.join("\n") });
      for (const address of addresses) this.#left.delete(address);
    } catch (error) {
      this.#log.warn({ err: error }, "connections of slots that are gone could not be forgotten");
      delayMs = RETRY_MS;
      throw error;
    } finally {
      this.#run = undefined;
      if (this.#left.size > 0) this.#wait(delayMs);
    }
  }

  /** The next host process flushes what this one leaves, so the timer does not keep this process alive. */
  #wait(delayMs: number): void {
    if (this.#run !== undefined) return;
    this.#timer ??= setTimeout(() => void this.#forget().catch(() => undefined), delayMs).unref();
  }
}
