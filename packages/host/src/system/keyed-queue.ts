/** Runs work with the same key one after the other; work with different keys runs concurrently. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<void>>();

  take<T>(key: string, work: () => Promise<T>): Promise<T> {
    const done = this.settled(key).then(work);
    const settled = done.then(
      () => undefined,
      () => undefined,
    );
    this.#last.set(key, settled);
    void settled.then(() => this.#last.get(key) === settled && this.#last.delete(key));
    return done;
  }

  /** Resolves when all queued work of the key has ended, successfully or not. */
  settled(key: string): Promise<void> {
    return this.#last.get(key) ?? Promise.resolve();
  }
}
