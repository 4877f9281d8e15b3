// Items in groups, such as connections by address. The oldest item of a group, and the group with the most
// items, are found in constant time: groups of the same size are in one queue, and a change of one item moves
// its group to the next queue.

import { Queue, type Place } from "./queue.ts";

interface Group<Item> {
  readonly key: string;
  readonly items: Queue<Item>;
  size: number;
  place: Place<Group<Item>> | undefined;
}

/** An item's place in a ranking. */
export interface Rank<Item> {
  readonly group: Group<Item>;
  readonly place: Place<Item>;
}

export class Ranking<Item> {
  readonly #groups = new Map<string, Group<Item>>();
  /** By their size. */
  readonly #groupsOf: Queue<Group<Item>>[] = [];
  #largest = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  count(key: string): number {
    return this.#groups.get(key)?.size ?? 0;
  }

  oldestOf(key: string): Item | undefined {
    return this.#groups.get(key)?.items.oldest;
  }

  /** Of groups with equally many, the one that has had as many for longest. */
  oldestOfLargest(): Item | undefined {
    return this.#groupsOf[this.#largest]?.oldest?.items.oldest;
  }

  add(key: string, item: Item): Rank<Item> {
    const group = this.#groups.get(key) ?? { key, items: new Queue<Item>(), size: 0, place: undefined };
    this.#groups.set(key, group);
    this.#resize(group, 1);
    return { group, place: group.items.add(item) };
  }

  remove({ group, place }: Rank<Item>): void {
    if (!place.isTaken) return;
    group.items.remove(place);
    this.#resize(group, -1);
    if (group.size === 0) this.#groups.delete(group.key);
  }

  #resize(group: Group<Item>, by: 1 | -1): void {
    if (group.place !== undefined) this.#groupsOf[group.size]?.remove(group.place);
    group.size += by;
    this.#size += by;
    group.place = group.size === 0 ? undefined : (this.#groupsOf[group.size] ??= new Queue()).add(group);
    // The largest group loses one item at a time, so the next size always has a group, or is 0.
    if (group.size > this.#largest) this.#largest = group.size;
    else if (this.#groupsOf[this.#largest]?.oldest === undefined)
      this.#largest = Math.max(0, this.#largest - 1);
  }
}
