// Merges logs that are followed: the lines of each log stay in their order, and those of different logs are
// nearly in that of their times. A log that prints nothing holds up the others for a moment alone. Queues are
// bounded, so a reader that is slow slows the logs down.

import { setTimeout as sleep } from "node:timers/promises";

export interface Merged {
  /** Milliseconds since 1970; 0: not known. */
  readonly atMs: number;
  /** Room that it takes; 0: it only says how far a log was read, and the next one like it replaces it. */
  readonly chars: number;
}

const LANE_MAX_ITEMS = 64;
const LANE_MAX_CHARS = 64 * 1024;
/** Hosts look for lines ten times in a second. */
const SETTLE_MS = 250;

export class LineMerge<Item extends Merged> implements Disposable {
  readonly #lanes = new Map<string, Lane<Item>>();
  #changed = Promise.withResolvers<void>();
  #failure: { readonly error: unknown } | undefined;
  #isClosed = false;

  /** Logs that are followed, or have items left. */
  get open(): ReadonlySet<string> {
    return new Set(this.#lanes.keys());
  }

  /** Resolves when there is room for more. Throws where no reader is left. */
  async push(key: string, item: Item): Promise<void> {
    const lane = this.#laneOf(key);
    lane.push(item);
    this.wake();
    await lane.room;
    if (this.#isClosed) throw new Error("the merge is closed");
  }

  /** The reader has gone away: what waits for room goes on, and fails. */
  [Symbol.dispose](): void {
    this.#isClosed = true;
    for (const lane of this.#lanes.values()) lane.close();
  }

  begin(key: string): void {
    this.#laneOf(key);
  }

  /** The log has no more items. */
  end(key: string): void {
    const lane = this.#lanes.get(key);
    if (lane !== undefined) lane.isOver = true;
    this.wake();
  }

  /** Has the reader fail with this error. */
  fail(error: unknown): void {
    this.#failure = { error };
    this.wake();
  }

  /**
   * Resolves with undefined where there is none until then, by the monotonic clock. Throws the signal's
   * reason.
   */
  async next(
    untilMs: number,
    signal: AbortSignal,
  ): Promise<{ readonly key: string; readonly item: Item } | undefined> {
    for (;;) {
      signal.throwIfAborted();
      if (this.#failure !== undefined) throw this.#failure.error;
      const nowMs = performance.now();
      for (const [key, lane] of this.#lanes) if (lane.isOver && lane.size === 0) this.#lanes.delete(key);
      const first = this.#first();
      const settledMs = this.#settledMs();
      if (first !== undefined && settledMs <= nowMs) return { key: first.key, item: first.lane.take() };
      const waitMs = (first === undefined ? untilMs : settledMs) - nowMs;
      if (waitMs <= 0) return undefined;
      await this.#wait(waitMs);
    }
  }

  /** Has the reader look again, also at its signal. */
  wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }

  async #wait(ms: number): Promise<void> {
    const timer = new AbortController();
    const late = sleep(ms, undefined, { signal: timer.signal });
    await Promise.race([this.#changed.promise, late.catch(() => undefined)]);
    timer.abort();
  }

  #laneOf(key: string): Lane<Item> {
    const lane = this.#lanes.get(key) ?? new Lane<Item>();
    this.#lanes.set(key, lane);
    return lane;
  }

  #first(): { readonly key: string; readonly lane: Lane<Item> } | undefined {
    let first: { key: string; lane: Lane<Item>; atMs: number } | undefined;
    for (const [key, lane] of this.#lanes) {
      const { atMs } = lane;
      if (atMs !== undefined && atMs < (first?.atMs ?? Infinity)) first = { key, lane, atMs };
    }
    return first;
  }

  /** When no log that has just been read to its end is waited for any more. */
  #settledMs(): number {
    const empty = [...this.#lanes.values()].filter((lane) => lane.size === 0 && !lane.isOver);
    return Math.max(0, ...empty.map((lane) => lane.emptySinceMs + SETTLE_MS));
  }
}

class Lane<Item extends Merged> {
  readonly #items: Item[] = [];
  #chars = 0;
  #room = Promise.withResolvers<void>();
  #isClosed = false;
  emptySinceMs = performance.now();
  isOver = false;

  get size(): number {
    return this.#items.length;
  }

  /** Time of its first item. */
  get atMs(): number | undefined {
    return this.#items[0]?.atMs;
  }

  get room(): Promise<void> {
    return this.#isFull ? this.#room.promise : Promise.resolve();
  }

  close(): void {
    this.#isClosed = true;
    this.#room.resolve();
  }

  push(item: Item): void {
    const last = this.#items.at(-1);
    if (item.chars === 0 && last?.chars === 0) this.#items.pop();
    this.#items.push(item);
    this.#chars += item.chars;
  }

  take(): Item {
    const item = this.#items.shift();
    if (item === undefined) throw new Error("a lane without an item");
    this.#chars -= item.chars;
    if (this.#items.length === 0) this.emptySinceMs = performance.now();
    if (!this.#isFull) {
      this.#room.resolve();
      this.#room = Promise.withResolvers<void>();
    }
    return item;
  }

  get #isFull(): boolean {
    if (this.#isClosed) return false;
    return this.#items.length >= LANE_MAX_ITEMS || this.#chars >= LANE_MAX_CHARS;
  }
}
