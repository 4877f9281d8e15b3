// A list as the guest sends it: one JSON object per line. Each line is checked as it comes, so that a guest
// can make us hold no more than the entries that were asked for.

import { parseJsonPayload } from "@skerry/contract/frames";

/** The guest sent an answer that is no such list. */
export class ListFault extends Error {
  override readonly name = "ListFault";
}

/** What a guest may send. */
export interface LineBounds {
  readonly entriesMax: number;
  readonly lineMaxBytes: number;
  /** Of all lines together. */
  readonly maxBytes: number;
}

const NEWLINE = 0x0a;

export class JsonLines<Entry> {
  readonly entries: Entry[] = [];
  readonly #bounds: LineBounds;
  #bytes = 0;
  readonly #entryOf: (line: Readonly<Record<string, unknown>>) => Entry;
  #rest: Buffer = Buffer.alloc(0);

  constructor(bounds: LineBounds, entryOf: (line: Readonly<Record<string, unknown>>) => Entry) {
    this.#bounds = bounds;
    this.#entryOf = entryOf;
  }

  /** Throws ListFault, or FrameError where a line is not a JSON object. */
  push(bytes: Buffer): void {
    this.#bytes += bytes.length;
    if (this.#bytes > this.#bounds.maxBytes) throw new ListFault("there are too many bytes");
    const text = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    let from = 0;
    for (let end = text.indexOf(NEWLINE); end >= 0; end = text.indexOf(NEWLINE, from)) {
      this.#take(text.subarray(from, end));
      from = end + 1;
    }
    if (text.length - from > this.#bounds.lineMaxBytes) throw new ListFault("a line is too long");
    this.#rest = Buffer.from(text.subarray(from));
  }

  /** Call it after the last byte. */
  end(): void {
    if (this.#rest.length > 0) this.#take(this.#rest);
  }

  #take(line: Buffer): void {
    if (line.length > this.#bounds.lineMaxBytes) throw new ListFault("a line is too long");
    if (this.entries.length === this.#bounds.entriesMax) throw new ListFault("there are too many lines");
    this.entries.push(this.#entryOf(parseJsonPayload(line)));
  }
}
