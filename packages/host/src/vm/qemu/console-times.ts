// When the bytes of a console came, from the second ring of console-log.c's file: pairs of a position and a
// time, in the order in which they were noted.

import type { FileHandle } from "node:fs/promises";
import type { PlacedPiece } from "@skerry/contract/host-api/timed-console";

/** As in console-log.c. */
const TIMES = 64 * 1024;
const PAIR_BYTES = 16;
/** The writer may be about to overwrite the oldest while they are read. */
const MARGIN = 64;

/** Where the ring is in the file, and how many times were ever noted. */
interface TimesRing {
  readonly times: number;
  readonly timesAt: number;
}

interface Moment {
  readonly position: number;
  readonly ms: number;
}

/** In step with one reader of the file, who goes forward. */
export class ConsoleTimes {
  readonly #handle: FileHandle;
  #moments: Moment[] = [];
  #read = 0;

  constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  /** Reads what was noted since the last call. */
  async refresh({ times, timesAt }: TimesRing): Promise<void> {
    const first = Math.max(this.#read, times <= TIMES ? 0 : times - TIMES + MARGIN);
    for (let at = first; at < times;) {
      const slot = at % TIMES;
      const count = Math.min(times - at, TIMES - slot);
      const place = timesAt + slot * PAIR_BYTES;
      const { buffer, bytesRead } = await this.#handle.read(
        Buffer.alloc(count * PAIR_BYTES),
        0,
        undefined,
        place,
      );
      for (let byte = 0; byte + PAIR_BYTES <= bytesRead; byte += PAIR_BYTES)
        this.#moments.push({
          position: Number(buffer.readBigUInt64LE(byte)),
          ms: Number(buffer.readBigUInt64LE(byte + 8)),
        });
      at += count;
    }
    this.#read = times;
  }

  /** The bytes at a position, cut where another time begins. */
  *split(bytes: Buffer, position: number): Generator<PlacedPiece> {
    const end = position + bytes.length;
    let from = position;
    let known = this.#moments.findLastIndex((moment) => moment.position <= position);
    // The reader goes forward alone: earlier times are of no more use.
    if (known > 0) this.#moments = this.#moments.slice(known);
    known = Math.min(known, 0);
    while (from < end) {
      const next = this.#moments[known + 1]?.position ?? end;
      const until = Math.min(end, Math.max(next, from));
      if (until > from)
        yield {
          bytes: bytes.subarray(from - position, until - position),
          atMs: this.#moments[known]?.ms,
          position: from,
        };
      from = until;
      known += 1;
    }
  }
}
