/** The place of an item in its queue. */
export interface Place<Item> {
  readonly item: Item;
  older: Place<Item> | undefined;
  newer: Place<Item> | undefined;
  isTaken: boolean;
}

/** First in, first out, and any item can leave; each call takes constant time. (The first entry of a `Set` or a
 *  `Map` is found by walking over the places of those that were deleted before it.) */
export class Queue<Item> {
  #oldest: Place<Item> | undefined;
  #newest: Place<Item> | undefined;

  get oldest(): Item | undefined {
    return this.#oldest?.item;
  }

  add(item: Item): Place<Item> {
    const place: Place<Item> = { item, older: this.#newest, newer: undefined, isTaken: true };
    if (this.#newest === undefined) this.#oldest = place;
    else this.#newest.newer = place;
    this.#newest = place;
    return place;
  }

  /** Removing an item a second time changes nothing. */
  remove(place: Place<Item>): void {
    if (!place.isTaken) return;
    place.isTaken = false;
    const { older, newer } = place;
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
  }
}
