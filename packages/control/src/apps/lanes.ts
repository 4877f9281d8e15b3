// Work in lanes: what takes long in one, such as a host that does not answer, holds up no other.

import { setTimeout as sleep } from "node:timers/promises";

export class Lanes {
  readonly #open = new Map<string, Promise<void>>();

  /** Those in which work is under way. */
  get open(): ReadonlySet<string> {
    return new Set(this.#open.keys());
  }

  /** Begins work that never rejects. The lane is free. */
  begin(lane: string, work: () => Promise<void>): void {
    if (this.#open.has(lane)) throw new Error(`work is under way in the lane ${lane}`);
    this.#open.set(
      lane,
      work().finally(() => this.#open.delete(lane)),
    );
  }

  /** Resolves when all work has ended, or after so long. */
  async settled(ms: number): Promise<void> {
    const timer = new AbortController();
    const late = sleep(ms, undefined, { signal: timer.signal }).catch(() => undefined);
    await Promise.race([Promise.all(this.#open.values()), late]);
    timer.abort();
  }
}
