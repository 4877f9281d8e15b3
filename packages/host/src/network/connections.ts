// Makes this machine forget the connections of slots that are gone. The kernel goes through its whole table
// for that, also where that is empty, so those that go within a moment share one run of
// `native/conntrack-flush.c`.

import type { Logger } from "pino";
import { runProgram } from "../run.ts";

/** Other slots end meanwhile; their connections are flushed together with these. */
const DELAY_MS = 1_000;
/** After a run that failed. */
const RETRY_MS = 3_000;
const DEADLINE_MS = 10_000;

export class Connections {
  readonly #program: string;
  readonly #log: Pick<Logger, "warn">;
  /** Not forgotten yet. */
  readonly #left = new Set<string>();
  #run: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(program: string, log: Pick<Logger, "warn">) {
    this.#program = program;
    this.#log = log;
  }

  /** The connections that this address began. No slot may get the address before `forgotten` has resolved. */
  forgetSoon(address: string): void {
    this.#left.add(address);
    this.#wait(DELAY_MS);
  }

  /** Begins at once where nothing of this address is forgotten yet. */
  async forgotten(address: string): Promise<void> {
    while (this.#left.has(address)) await this.#forget();
  }

  /** Resolves when nothing is left. */
  async allForgotten(): Promise<void> {
    while (this.#left.size > 0) await this.#forget();
  }

  /** Who comes during a run is not part of it. */
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
