// The output of commands, collected for an answer in one piece.

import { StringDecoder } from "node:string_decoder";
import { FIRST_BLOCK_BYTES, type OutputBudget } from "./output-budget.ts";

export type Encoding = "utf8" | "base64";

/** Encoded at once: escaped as JSON it may be six times as long, which takes less than a millisecond. */
const PIECE_BYTES = 16 * 1024;
const BLOCK_MAX_BYTES = 64 * 1024;

interface Source {
  readonly budget: OutputBudget;
  readonly orgId: string;
}

/**
 * Collects one stream up to a limit. The bytes are copied into blocks: the pieces that they come in may be single bytes, and keeping a
 * Buffer for each would cost a hundred times their size. Blocks are never copied again, which would stop the event loop for
 * milliseconds where they are large, and together they are at most twice as large as the output.
 */
export class OutputCollector implements Disposable {
  readonly #limitBytes: number;
  readonly #source: Source;
  #taken = new DisposableStack();
  #blocks: Buffer[] = [];
  /** Of the last block. */
  #freeBytes = 0;
  #bytes = 0;
  #truncated = false;

  constructor(limitBytes: number, source: Source) {
    this.#limitBytes = limitBytes;
    this.#source = source;
  }

  push(piece: Buffer): void {
    const wanted = Math.min(piece.length, this.#limitBytes - this.#bytes);
    if (wanted < piece.length) this.#truncated = true;
    for (let at = 0; at < wanted;) {
      const block = this.#blockWithRoom();
      const copied = piece.copy(block, block.length - this.#freeBytes, at, wanted);
      this.#freeBytes -= copied;
      this.#bytes += copied;
      at += copied;
    }
  }

  /** More came than the limit holds. */
  get truncated(): boolean {
    return this.#truncated;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The same as `toString`, piece by piece: none of them cuts a character, or a group of base64. Waits for its turn before each. */
  async *pieces(encoding: Encoding, turn: () => Promise<void>): AsyncGenerator<string, void> {
    const decoder = new StringDecoder(encoding);
    for (const block of this.#filled()) {
      for (let at = 0; at < block.length; at += PIECE_BYTES) {
        await turn();
        yield decoder.write(block.subarray(at, at + PIECE_BYTES));
      }
    }
    yield decoder.end();
  }

  /** `utf8`: bytes that are not UTF-8 become U+FFFD. */
  toString(encoding: Encoding): string {
    return Buffer.concat(this.#filled()).toString(encoding);
  }

  [Symbol.dispose](): void {
    this.#taken.dispose();
    this.#taken = new DisposableStack();
    this.#blocks = [];
    this.#freeBytes = 0;
    this.#bytes = 0;
  }

  /** The parts of the blocks that hold output. */
  #filled(): Buffer[] {
    const last = this.#blocks.at(-1);
    if (last === undefined) return [];
    return [...this.#blocks.slice(0, -1), last.subarray(0, last.length - this.#freeBytes)];
  }

  #blockWithRoom(): Buffer {
    const last = this.#blocks.at(-1);
    if (last !== undefined && this.#freeBytes > 0) return last;
    const { budget, orgId } = this.#source;
    // All blocks are full, so doubling the output means a block of its size.
    const bytes = Math.min(
      BLOCK_MAX_BYTES,
      Math.max(this.#bytes, FIRST_BLOCK_BYTES),
      this.#limitBytes - this.#bytes,
    );
    this.#taken.use(budget.take(orgId, bytes, last === undefined ? "first block" : "more"));
    // Not of Node's pool, of which a small block would hold more than it is counted with.
    const block = Buffer.allocUnsafeSlow(bytes);
    this.#blocks.push(block);
    this.#freeBytes = bytes;
    return block;
  }
}
