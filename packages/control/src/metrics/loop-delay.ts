// How late this process' event loop is. While it is late, nothing else of this process happens: no answer goes out, and what the
// database and the hosts have said is not heard.

import type { Metrics } from "./metrics.ts";

const SAMPLE_MS = 50;
/** The longest delay is told of this long. */
const WINDOW_S = 60;

/** Observes until it is disposed of. Keeps no process alive. */
export function observeLoopDelay({ loopDelay, loopDelayMax }: Metrics): Disposable {
  const longest = new LongestOfMinute();
  let lastMs = performance.now();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    const delayS = Math.max(0, nowMs - lastMs - SAMPLE_MS) / 1_000;
    lastMs = nowMs;
    loopDelay.observe(delayS);
    loopDelayMax.set(longest.with(delayS, Math.floor(nowMs / 1_000)));
  }, SAMPLE_MS);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** The longest of the delays of the last minute. Times are whole seconds of one clock, never earlier than the one before. */
export class LongestOfMinute {
  /** The longest of each second, by the second modulo their number. */
  readonly #slots = new Float64Array(WINDOW_S);
  #second = 0;

  with(delayS: number, second: number): number {
    // What is in the slots of seconds that have begun since is a minute old.
    const passed = Math.min(second - this.#second, WINDOW_S);
    for (let back = 0; back < passed; back += 1) this.#slots[(second - back) % WINDOW_S] = 0;
    this.#second = second;
    const slot = second % WINDOW_S;
    this.#slots[slot] = Math.max(this.#slots[slot] ?? 0, delayS);
    return Math.max(...this.#slots);
  }
}
