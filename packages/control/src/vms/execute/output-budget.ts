// Memory for the collected output of commands, shared out among organizations. Commands keep it until their answers have been sent,
// which takes as long as the caller likes, so what one organization can hold must leave something for each of the others.

import { SkerryError } from "@skerry/contract/errors";
import { MemoryShares, USUAL_SHARE, type Share } from "../../values/memory-shares.ts";

/** What a collector begins with; most output is shorter. */
export const FIRST_BLOCK_BYTES = 4 * 1024;
const RETRY_AFTER_S = 5;

/** For first blocks where that is used up: little, for many organizations, and for stdout and stderr of one command of each. */
const LAST: Share = { perFreeByte: 0.05, floorBytes: 2 * FIRST_BLOCK_BYTES };

export class OutputBudget {
  readonly #shared: MemoryShares;
  readonly #firstBlocks: MemoryShares;

  constructor({
    sharedBytes,
    firstBlocksBytes,
  }: {
    readonly sharedBytes: number;
    readonly firstBlocksBytes: number;
  }) {
    this.#shared = new MemoryShares(sharedBytes, USUAL_SHARE);
    this.#firstBlocks = new MemoryShares(firstBlocksBytes, LAST);
  }

  /** Takes memory for an organization until it is disposed of. Throws `no_capacity` where its share is used up. */
  take(orgId: string, bytes: number, which: "first block" | "more"): Disposable {
    const pots = which === "first block" ? [this.#shared, this.#firstBlocks] : [this.#shared];
    const pot = pots.find((one) => one.take(orgId, bytes));
    if (pot === undefined) throw exhausted();
    return { [Symbol.dispose]: () => pot.give(orgId, bytes) };
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
