/** A map of at most `max` entries: the one that was set longest ago makes room. For what this process may forget. */
export class BoundedMap<Key, Value> {
  readonly #max: number;
  /** Oldest first. */
  readonly #entries = new Map<Key, Value>();

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#entries.size;
  }

  has(key: Key): boolean {
    return this.#entries.has(key);
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key);
  }

  set(key: Key, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#max) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }

  delete(key: Key): void {
    this.#entries.delete(key);
  }

  /** Removes the entries that `isStale` names. */
  deleteWhere(isStale: (value: Value) => boolean): void {
    for (const [key, value] of this.#entries) if (isStale(value)) this.#entries.delete(key);
  }
}
