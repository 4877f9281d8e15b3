// A console with times, between a host and control: pieces of a time in ms since 1970 (0: not known) as 8
// bytes, a length as 4 bytes, both little-endian, and so many bytes of the console. A mark is a piece of no
// bytes: it has the position of the next byte in the place of a time, counted from the first byte ever
// written. It comes first, and wherever bytes are missing. Readers of the version before pass over marks, and
// its hosts send none.

/** For `Accept` and `Content-Type`. A host of the version before answers with the bytes alone. */
export const TIMED_CONSOLE = "application/vnd.skerry.timed-console";

/**
 * Header of a call for a console: the position at which it is to begin, in the place of its last lines. A
 * position that has been overwritten, or that the console has not come to, means the oldest byte that is
 * there. A host of the version before does not know it, and sends the last lines.
 */
export const CONSOLE_FROM = "skerry-console-from";

export interface TimedPiece {
  /** Empty where the piece says nothing but its position. */
  readonly bytes: Buffer;
  readonly atMs: number | undefined;
  /** Position of its first byte; undefined where its host tells none. */
  readonly position?: number | undefined;
}

/** A piece whose position its host knows. */
export interface PlacedPiece extends TimedPiece {
  readonly position: number;
}

const HEAD_BYTES = 12;
/** A host sends pieces of at most 64 KiB. */
const PIECE_MAX_BYTES = 1024 * 1024;

export function timedPiece({ bytes, atMs = 0 }: TimedPiece): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeBigUInt64LE(BigInt(atMs));
  head.writeUInt32LE(bytes.length, 8);
  return Buffer.concat([head, bytes]);
}

function mark(position: number): Buffer {
  return timedPiece({ bytes: Buffer.alloc(0), atMs: position });
}

/** Pieces as they are sent, with the marks that they need. */
export class PieceWriter {
  #next: number | undefined;

  written({ bytes, atMs, position }: PlacedPiece): Buffer {
    const before = position === this.#next ? [] : [mark(position)];
    this.#next = position + bytes.length;
    return Buffer.concat(bytes.length === 0 ? before : [...before, timedPiece({ bytes, atMs })]);
  }
}

/** Throws where the stream is none of such pieces. One that breaks off in a piece gives what came of it. */
export async function* timedPieces(stream: AsyncIterable<Buffer>): AsyncGenerator<TimedPiece> {
  let held: Buffer = Buffer.alloc(0);
  /** Bytes that are still to come of the piece whose head was read. */
  let left = 0;
  let atMs: number | undefined;
  let position: number | undefined;
  for await (const chunk of stream) {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    for (;;) {
      if (left > 0 && held.length > 0) {
        const bytes = held.subarray(0, left);
        yield { bytes, atMs, position };
        left -= bytes.length;
        if (position !== undefined) position += bytes.length;
        held = held.subarray(bytes.length);
      }
      if (left > 0 || held.length < HEAD_BYTES) break;
      const ms = Number(held.readBigUInt64LE());
      atMs = ms === 0 ? undefined : ms;
      left = held.readUInt32LE(8);
      if (left === 0) {
        position = ms;
        yield { bytes: Buffer.alloc(0), atMs: undefined, position };
      }
      if (left > PIECE_MAX_BYTES) throw new Error(`a piece of a console of ${left} bytes`);
      held = held.subarray(HEAD_BYTES);
    }
  }
}

export async function* untimedPieces(stream: AsyncIterable<Buffer>): AsyncGenerator<TimedPiece> {
  for await (const bytes of stream) yield { bytes, atMs: undefined };
}
