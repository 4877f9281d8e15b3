// Limits the work that a guest, or a QEMU that it has taken over, can cause. Spending over a burst is a debt;
// the host reads nothing more until the debt is paid off at a steady rate.

export interface LeakyBucketLimits {
  readonly burst: number;
  readonly perMs: number;
}

export class LeakyBucket {
  readonly #limits: LeakyBucketLimits;
  #owed = 0;
  #lastMs: number;

  constructor(limits: LeakyBucketLimits, nowMs: number) {
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
