// Places that guests share. A guest may take as many as its own limit while there are free ones. When all are
// taken, a guest that has at least two fewer than the guest with the most gets the oldest place of that one:
// so guests that take all they can end up with the same number each, and a guest that has none always gets
// one while another has two.

export class FairShare<Item> {
  readonly #limits: { readonly all: number; readonly each: number };
  readonly #evict: (item: Item) => void;
  /** The places of each guest, oldest first. */
  readonly #taken = new Map<string, Set<Item>>();
  #count = 0;

  constructor(limits: { readonly all: number; readonly each: number }, evict: (item: Item) => void) {
    this.#limits = limits;
    this.#evict = evict;
  }

  /** False where this guest gets no place now. Otherwise `release` frees the place, unless it was evicted
   *  before. */
  take(guest: string, item: Item): boolean {
    const own = this.#taken.get(guest);
    const had = own?.size ?? 0;
    if (had >= this.#limits.each) return false;
    if (this.#count >= this.#limits.all && !this.#makeRoom(had)) return false;
    if (own === undefined) this.#taken.set(guest, new Set([item]));
    else own.add(item);
    this.#count += 1;
    return true;
  }

  release(guest: string, item: Item): void {
    const own = this.#taken.get(guest);
    if (own?.delete(item) !== true) return;
    this.#count -= 1;
    if (own.size === 0) this.#taken.delete(guest);
  }

  /** Of a guest that has gone. Its items are not evicted; to `release` them later does nothing. */
  releaseAll(guest: string): void {
    this.#count -= this.#taken.get(guest)?.size ?? 0;
    this.#taken.delete(guest);
  }

  all(): Item[] {
    return [...this.#taken.values()].flatMap((items) => [...items]);
  }

  /** A difference of one is left as it is: two guests would take the last place from each other without
   *  end. */
  #makeRoom(had: number): boolean {
    let [guest, most]: [string, ReadonlySet<Item>] = ["", new Set()];
    for (const [other, items] of this.#taken) if (items.size > most.size) [guest, most] = [other, items];
    const [oldest] = most;
    if (oldest === undefined || most.size < had + 2) return false;
    this.release(guest, oldest);
    this.#evict(oldest);
    return true;
  }
}
