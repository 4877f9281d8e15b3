// How much of something a guest, or the QEMU that it may have taken over, can make us do. What is over a
// burst is owed, and what is owed is worked off at a steady rate, during which nothing more is read.

export interface AllowanceLimits {
  readonly burst: number;
  readonly perMs: number;
}

export class Allowance {
  readonly #limits: AllowanceLimits;
  #owed = 0;
  #lastMs: number;

  constructor(limits: AllowanceLimits, nowMs: number) {
    this.#limits = limits;
    this.#lastMs = nowMs;
  }

  spend(amount: number): void {
    this.#owed += amount;
  }

  /** For how many milliseconds nothing more is to be read; 0 for none. */
  pauseMs(nowMs: number): number {
    const { burst, perMs } = this.#limits;
    this.#owed = Math.max(0, this.#owed - (nowMs - this.#lastMs) * perMs);
    this.#lastMs = nowMs;
    return this.#owed <= burst ? 0 : (this.#owed - burst) / perMs;
  }
}
