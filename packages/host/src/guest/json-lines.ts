// A list as the guest sends it: one JSON object per line. Each line is checked as it comes, so that a guest
// can make us hold no more than the entries that were asked for.

import { parseJsonPayload } from "@skerry/contract/frames";

/** The guest sent an answer that is no such list. */
export class ListFault extends Error {
  override readonly name = "ListFault";
}

/** A name has 255 bytes, six times as many where each needs an escape; the other fields are numbers and
 *  one word. */
const LINE_MAX_BYTES = 2_048;
const NEWLINE = 0x0a;

export class JsonLines<Entry> {
  readonly entries: Entry[] = [];
  readonly #entriesMax: number;
  readonly #entryOf: (line: Readonly<Record<string, unknown>>) => Entry;
  #rest: Buffer = Buffer.alloc(0);

  constructor(entriesMax: number, entryOf: (line: Readonly<Record<string, unknown>>) => Entry) {
    this.#entriesMax = entriesMax;
    this.#entryOf = entryOf;
  }

  /** Throws ListFault, or FrameError where a line is not a JSON object. */
  push(bytes: Buffer): void {
    const text = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    let from = 0;
    for (let end = text.indexOf(NEWLINE); end >= 0; end = text.indexOf(NEWLINE, from)) {
      this.#take(text.subarray(from, end));
      from = end + 1;
    }
    if (text.length - from > LINE_MAX_BYTES) throw new ListFault("a line is too long");
    this.#rest = Buffer.from(text.subarray(from));
  }

  /** Call it after the last byte. */
  end(): void {
    if (this.#rest.length > 0) this.#take(this.#rest);
  }

  #take(line: Buffer): void {
    if (line.length > LINE_MAX_BYTES) throw new ListFault("a line is too long");
    if (this.entries.length === this.#entriesMax) throw new ListFault("there are too many lines");
    this.entries.push(this.#entryOf(parseJsonPayload(line)));
  }
}
