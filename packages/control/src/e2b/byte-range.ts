// A part of a file, as HTTP asks for it (RFC 9110, section 14). Files come whole from their sandbox, so what lies before the part is passed over here.

import { Readable } from "node:stream";

/** Positions of bytes, both included. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/** Undefined: the whole file, as for several parts at once, which no server has to send. `none`: the file has none of these bytes. */
export function rangeOf(header: string | undefined, sizeBytes: number): ByteRange | "none" | undefined {
  const end = sizeBytes - 1;
  const [, suffix] = /^bytes=-(\d{1,15})$/.exec(header ?? "") ?? [];
  if (suffix !== undefined) return within(Math.max(0, sizeBytes - Number(suffix)), end);
  const [, from, to = ""] = /^bytes=(\d{1,15})-(\d{0,15})$/.exec(header ?? "") ?? [];
  const last = to === "" ? Infinity : Number(to);
  if (from === undefined || last < Number(from)) return undefined;
  return within(Number(from), Math.min(last, end));
}

function within(first: number, last: number): ByteRange | "none" {
  return first > last ? "none" : { first, last };
}

export function partOf(content: Readable, range: ByteRange): Readable {
  return Readable.from(pieces(content, range), { objectMode: false });
}

async function* pieces(content: Readable, { first, last }: ByteRange): AsyncGenerator<Buffer> {
  let at = 0;
  for await (const piece of content as AsyncIterable<Buffer>) {
    const wanted = piece.subarray(Math.max(0, first - at), Math.max(0, last + 1 - at));
    if (wanted.length > 0) yield wanted;
    at += piece.length;
    // Leaving the loop ends the rest of the file.
    if (at > last) return;
  }
}
