// How fast a guest may send small frames. Each costs the host about as much work as a large one, so a guest that sends nothing else
// could keep a core of the host busy and its neighbours waiting. Its channel is then simply not read for a while.

/** A frame with less than this counts as small. */
const SMALL_BYTES = 512;
/** Sustained rate. A command that writes single bytes under emulation makes a few thousand a second. */
const FRAMES_PER_MS = 20;
/** What may come at once before anything is held back. */
const BURST_FRAMES = 2_000;

export class Pace {
  #owedFrames = 0;
  #lastMs: number;

  constructor(nowMs: number) {
    this.#lastMs = nowMs;
  }

  count(payloadBytes: number): void {
    if (payloadBytes < SMALL_BYTES) this.#owedFrames += 1;
  }

  /** For how many milliseconds the channel is to be left alone; 0 for none. */
  pauseMs(nowMs: number): number {
    this.#owedFrames = Math.max(0, this.#owedFrames - (nowMs - this.#lastMs) * FRAMES_PER_MS);
    this.#lastMs = nowMs;
    return this.#owedFrames <= BURST_FRAMES ? 0 : (this.#owedFrames - BURST_FRAMES) / FRAMES_PER_MS;
  }
}
