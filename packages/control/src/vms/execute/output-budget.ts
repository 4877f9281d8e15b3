// Memory for the collected output of commands, shared out among organizations. Commands keep it until their answers have been sent,
// which takes as long as the caller likes, so what one organization can hold must leave something for each of the others.

import { SkerryError } from "@skerry/contract/errors";

interface Share {
  /**
   * An organization may hold this many bytes for each byte that is then still free. With 0.5 one alone gets a third of all, a second
   * one a third of what the first has left, and so on: nothing is set aside for organizations that run no commands, and yet the free
   * part never becomes empty.
   */
  readonly perFreeByte: number;
  /** What it may hold in any case, while there is something free. */
  readonly floorBytes: number;
}

/** What a collector begins with; most output is shorter. */
export const FIRST_BLOCK_BYTES = 4 * 1024;
const RETRY_AFTER_S = 5;

/** For everything. */
const USUAL: Share = { perFreeByte: 0.5, floorBytes: 0 };
/** For first blocks where that is used up: little, for many organizations, and for stdout and stderr of one command of each. */
const LAST: Share = { perFreeByte: 0.05, floorBytes: 2 * FIRST_BLOCK_BYTES };

export class OutputBudget {
  readonly #shared: Pot;
  readonly #firstBlocks: Pot;

  constructor({
    sharedBytes,
    firstBlocksBytes,
  }: {
    readonly sharedBytes: number;
    readonly firstBlocksBytes: number;
  }) {
    this.#shared = new Pot(sharedBytes, USUAL);
    this.#firstBlocks = new Pot(firstBlocksBytes, LAST);
  }

  /** Takes memory for an organization until it is disposed of. Throws `no_capacity` where its share is used up. */
  take(orgId: string, bytes: number, which: "first block" | "more"): Disposable {
    const pots = which === "first block" ? [this.#shared, this.#firstBlocks] : [this.#shared];
    const pot = pots.find((one) => one.take(orgId, bytes));
    if (pot === undefined) throw exhausted();
    return { [Symbol.dispose]: () => pot.give(orgId, bytes) };
  }
}

class Pot {
  #freeBytes: number;
  readonly #share: Share;
  readonly #heldBytes = new Map<string, number>();

  constructor(bytes: number, share: Share) {
    this.#freeBytes = bytes;
    this.#share = share;
  }

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

function exhausted(): SkerryError {
  return new SkerryError(
    "no_capacity",
    "The organization's share of the memory for collected output is used up.",
    {
      remediation:
        "Stream the output with `Accept: text/event-stream`, write it to a file, or try again when other commands have ended.",
      retryAfterS: RETRY_AFTER_S,
    },
  );
}
