// The output of commands, collected for an answer in one piece.

import { StringDecoder } from "node:string_decoder";
import { SkerryError } from "@skerry/contract/errors";

export type Encoding = "utf8" | "base64";

/** Cut for the way out: escaped as JSON it may be six times as long. */
const PIECE_BYTES = 48 * 1024;
const FIRST_BYTES = 16 * 1024;
const RETRY_AFTER_S = 5;

/** Memory for the output of all commands that are collected at the same time. */
export class OutputBudget {
  #freeBytes: number;

  constructor(bytes: number) {
    this.#freeBytes = bytes;
  }

  take(bytes: number): void {
    if (bytes > this.#freeBytes) {
      throw new SkerryError("no_capacity", "Too much output of commands is being collected at once.", {
        remediation: "Stream the output with `Accept: text/event-stream`, or try again later.",
        retryAfterS: RETRY_AFTER_S,
      });
    }
    this.#freeBytes -= bytes;
  }

  give(bytes: number): void {
    this.#freeBytes += bytes;
  }
}

/**
 * Collects one stream up to a limit. The bytes are copied into one growing block: the pieces that they come in may be single
 * bytes, and keeping a Buffer for each would cost a hundred times their size.
 */
export class OutputCollector implements Disposable {
  readonly #limitBytes: number;
  readonly #budget: OutputBudget;
  #block = Buffer.alloc(0);
  #bytes = 0;
  #truncated = false;

  constructor(limitBytes: number, budget: OutputBudget) {
    this.#limitBytes = limitBytes;
    this.#budget = budget;
  }

  push(piece: Buffer): void {
    const taken = Math.min(piece.length, this.#limitBytes - this.#bytes);
    if (taken < piece.length) this.#truncated = true;
    if (taken === 0) return;
    this.#reserve(this.#bytes + taken);
    piece.copy(this.#block, this.#bytes, 0, taken);
    this.#bytes += taken;
  }

  /** More came than the limit holds. */
  get truncated(): boolean {
    return this.#truncated;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The same as `toString`, piece by piece: none of them cuts a character, or a group of base64. */
  *pieces(encoding: Encoding): Generator<string, void> {
    const decoder = new StringDecoder(encoding);
    for (let at = 0; at < this.#bytes; at += PIECE_BYTES) {
      yield decoder.write(this.#block.subarray(at, Math.min(at + PIECE_BYTES, this.#bytes)));
    }
    yield decoder.end();
  }

  /** `utf8`: bytes that are not UTF-8 become U+FFFD. */
  toString(encoding: Encoding): string {
    return this.#block.toString(encoding, 0, this.#bytes);
  }

  [Symbol.dispose](): void {
    this.#budget.give(this.#block.length);
    this.#block = Buffer.alloc(0);
    this.#bytes = 0;
  }

  #reserve(bytes: number): void {
    if (bytes <= this.#block.length) return;
    const grown = Math.min(this.#limitBytes, Math.max(bytes, this.#block.length * 2, FIRST_BYTES));
    this.#budget.take(grown - this.#block.length);
    const block = Buffer.allocUnsafe(grown);
    this.#block.copy(block, 0, 0, this.#bytes);
    this.#block = block;
  }
}
