/** Work on one thing, one after the other; work on different things does not wait for each other. */
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

  /** Resolves when what was begun, or waits for its turn, has ended in either way. */
  settled(key: string): Promise<void> {
    return this.#last.get(key) ?? Promise.resolve();
  }
}
