// A console with times, between a host and control: pieces of a time in ms since 1970 (0: not known) as 8
// bytes, a length as 4 bytes, both little-endian, and so many bytes of the console.

/** For `Accept` and `Content-Type`. A host of the version before answers with the bytes alone. */
export const TIMED_CONSOLE = "application/vnd.skerry.timed-console";

export interface TimedPiece {
  readonly bytes: Buffer;
  readonly atMs: number | undefined;
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

/** Throws where the stream is none of such pieces. One that breaks off in a piece gives what came of it. */
export async function* timedPieces(stream: AsyncIterable<Buffer>): AsyncGenerator<TimedPiece> {
  let held: Buffer = Buffer.alloc(0);
  /** Bytes that are still to come of the piece whose head was read. */
  let left = 0;
  let atMs: number | undefined;
  for await (const chunk of stream) {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    for (;;) {
      if (left > 0 && held.length > 0) {
        const bytes = held.subarray(0, left);
        yield { bytes, atMs };
        left -= bytes.length;
        held = held.subarray(bytes.length);
      }
      if (left > 0 || held.length < HEAD_BYTES) break;
      const ms = Number(held.readBigUInt64LE());
      atMs = ms === 0 ? undefined : ms;
      left = held.readUInt32LE(8);
      if (left > PIECE_MAX_BYTES) throw new Error(`a piece of a console of ${left} bytes`);
      held = held.subarray(HEAD_BYTES);
    }
  }
}

export async function* untimedPieces(stream: AsyncIterable<Buffer>): AsyncGenerator<TimedPiece> {
  for await (const bytes of stream) yield { bytes, atMs: undefined };
}
