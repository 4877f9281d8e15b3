// How fast a guest may make the host work for little or nothing. A small frame costs about as much work as a large one, and padding is read
// byte by byte, so a guest that sends nothing else could keep a core of the host busy and its neighbours waiting. Its channel is then
// simply not read for a while. Large frames are not counted: credit bounds them, and the call that asked for them waits for them.

import { LeakyBucket } from "../system/leaky-bucket.ts";

/** A frame with less than this counts as small. */
const SMALL_BYTES = 512;
/** A command that writes single bytes under emulation makes a few thousand frames a second. */
const SMALL_FRAMES = { burst: 2_000, perMs: 20 } as const;
/** Our agent sends none. 84 MB a second took 22 % of a core. */
const PADDING_BYTES = { burst: 1024 * 1024, perMs: 1024 } as const;

export class FrameRateLimit {
  readonly #frames: LeakyBucket;
  readonly #padding: LeakyBucket;

  constructor(nowMs: number) {
    this.#frames = new LeakyBucket(SMALL_FRAMES, nowMs);
    this.#padding = new LeakyBucket(PADDING_BYTES, nowMs);
  }

  count(payloadBytes: number): void {
    if (payloadBytes < SMALL_BYTES) this.#frames.spend(1);
  }

  countPadding(bytes: number): void {
    this.#padding.spend(bytes);
  }

  /** For how many milliseconds the channel is to be left alone; 0 for none. */
  pauseMs(nowMs: number): number {
    return Math.max(this.#frames.pauseMs(nowMs), this.#padding.pauseMs(nowMs));
  }
}
