// A directory listing as the guest sends it: one JSON object per line. Each line is checked as it comes, so
// that a guest can make us hold no more than the entries that were asked for.

import { parseJsonPayload } from "@skerry/contract/frames";
import type { DirectoryEntry } from "@skerry/contract/vms/files";
import { integer, natural } from "./numbers.ts";

/** The guest sent an answer that is not a listing. */
export class ListingFault extends Error {
  override readonly name = "ListingFault";
}

/** A name has 255 bytes, six times as many where each needs an escape; the other fields are numbers and
 *  one word. */
const LINE_MAX_BYTES = 2_048;
const NEWLINE = 0x0a;

export class ListingReader {
  readonly entries: DirectoryEntry[] = [];
  readonly #entriesMax: number;
  #rest: Buffer = Buffer.alloc(0);

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
  }

  /** Throws ListingFault, or FrameError where a line is not a JSON object. */
  push(bytes: Buffer): void {
    const text = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    let from = 0;
    for (let end = text.indexOf(NEWLINE); end >= 0; end = text.indexOf(NEWLINE, from)) {
      this.#take(text.subarray(from, end));
      from = end + 1;
    }
    if (text.length - from > LINE_MAX_BYTES) throw new ListingFault("a line is too long");
    this.#rest = Buffer.from(text.subarray(from));
  }

  /** Call it after the last byte. */
  end(): void {
    if (this.#rest.length > 0) this.#take(this.#rest);
  }

  #take(line: Buffer): void {
    if (line.length > LINE_MAX_BYTES) throw new ListingFault("a line is too long");
    if (this.entries.length === this.#entriesMax) throw new ListingFault("there are too many lines");
    this.entries.push(entryOf(line));
  }
}

function entryOf(line: Buffer): DirectoryEntry {
  const { name, size, type, modified_ms: modifiedMs } = parseJsonPayload(line);
  return {
    name: typeof name === "string" ? name : "",
    size: natural(size),
    type: type === "file" || type === "directory" || type === "symlink" ? type : "other",
    modified: timestamp(integer(modifiedMs)),
  };
}

/** A guest may set any file time; JavaScript's dates end at the year 275760. */
function timestamp(milliseconds: number): string {
  const date = new Date(milliseconds);
  return Number.isNaN(date.getTime()) || date.getUTCFullYear() > 9_999 || date.getUTCFullYear() < 0
    ? new Date(0).toISOString()
    : date.toISOString();
}
