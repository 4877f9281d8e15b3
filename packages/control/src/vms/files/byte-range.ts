// A part of a file, as HTTP asks for it (RFC 9110, section 14). Files come whole from their sandbox, so what lies before the part is passed over here.

import type { IncomingHttpHeaders } from "node:http";
import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";

/** Positions of bytes, both included. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/**
 * Undefined: the whole file, as for several parts at once, which no server has to send, and with `If-Range`,
 * because a file has no validator that could match. `none`: the file has none of these bytes.
 */
export function rangeOf(headers: IncomingHttpHeaders, sizeBytes: number): ByteRange | "none" | undefined {
  const header = headers["if-range"] === undefined ? headers.range : undefined;
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

export function noneOf(sizeBytes: number): string {
  return `The file has ${sizeBytes} bytes, and none of those that are asked for.`;
}

interface Part {
  readonly range: ByteRange;
  /** Size of the whole file, in bytes. */
  readonly sizeBytes: number;
  readonly content: Readable;
}

export function sendPart(reply: FastifyReply, { range, sizeBytes, content }: Part): FastifyReply {
  // The rest of it is ended unread; what fails before that ends the part, which is its reader.
  content.on("error", () => undefined);
  const { first, last } = range;
  void reply.code(206).header("content-range", `bytes ${first}-${last}/${sizeBytes}`);
  return reply.header("content-length", last - first + 1).send(partOf(content, range));
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
