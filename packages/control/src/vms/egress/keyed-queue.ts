// Work on one thing at a time, in the order in which it was asked for. Things do not wait for each other.

import { SkerryError } from "@skerry/contract/errors";

const RETRY_AFTER_S = 1;

export class KeyedQueue {
  readonly #waitingMax: number;
  readonly #lines = new Map<string, { last: Promise<unknown>; length: number }>();

  constructor(waitingMax: number) {
    this.#waitingMax = waitingMax;
  }

  /** Whether work on it is under way, or waits. */
  isBusy(key: string): boolean {
    return this.#lines.has(key);
  }

  /** Does the work when all that was asked for before it has ended, well or not; `sandbox_busy` where that is too much. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const line = this.#lines.get(key) ?? { last: Promise.resolve(), length: 0 };
    if (line.length > this.#waitingMax) {
      throw new SkerryError("sandbox_busy", "Too many changes are waiting.", {
        remediation: "Send the next change when the last one is answered.",
        retryAfterS: RETRY_AFTER_S,
      });
    }
    this.#lines.set(key, line);
    line.length += 1;
    const mine = line.last.then(work);
    line.last = mine.catch(() => undefined);
    try {
      return await mine;
    } finally {
      line.length -= 1;
      if (line.length === 0) this.#lines.delete(key);
    }
  }
}
