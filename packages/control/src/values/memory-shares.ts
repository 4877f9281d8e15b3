// Memory of this process that organizations share out among themselves by holding it, counted in bytes.

export interface Share {
  /**
   * An organization may hold this many bytes for each byte that is then still free. With 0.5 one alone gets a third of all, a second
   * one a third of what the first has left, and so on: nothing is set aside for organizations that hold nothing, and yet the free
   * part never becomes empty.
   */
  readonly perFreeByte: number;
  /** What it may hold in any case, while there is something free. */
  readonly floorBytes: number;
}

export const USUAL_SHARE: Share = { perFreeByte: 0.5, floorBytes: 0 };

export class MemoryShares {
  #freeBytes: number;
  readonly #share: Share;
  readonly #heldBytes = new Map<string, number>();

  constructor(bytes: number, share: Share) {
    this.#freeBytes = bytes;
    this.#share = share;
  }

  /** False where the organization's share is used up. */
  take(orgId: string, bytes: number): boolean {
    const { perFreeByte, floorBytes } = this.#share;
    const held = (this.#heldBytes.get(orgId) ?? 0) + bytes;
    const free = this.#freeBytes - bytes;
    if (free < 0 || held > Math.max(floorBytes, perFreeByte * free)) return false;
    this.#heldBytes.set(orgId, held);
    this.#freeBytes = free;
    return true;
  }

  give(orgId: string, bytes: number): void {
    const held = (this.#heldBytes.get(orgId) ?? 0) - bytes;
    if (held > 0) this.#heldBytes.set(orgId, held);
    else this.#heldBytes.delete(orgId);
    this.#freeBytes += bytes;
  }
}
