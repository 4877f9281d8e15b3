// Tells an operator that connections are closed to make room: at once when it begins, and then once in a while with
// how many there were, however many there are.

import type { CloseReason } from "./doors.ts";

const EVERY_MS = 10_000;

export interface Pressure {
  /** Connections that were closed because of the bound of their address, of all, or for want of anything to close. */
  readonly address: number;
  readonly total: number;
  readonly no_room: number;
  /** Of the last one. */
  readonly last_address: string;
}

export class PressureLog {
  readonly #tell: (pressure: Pressure) => void;
  readonly #everyMs: number;
  #counts = { address: 0, total: 0, no_room: 0 };
  #lastAddress = "";
  #timer: NodeJS.Timeout | undefined;

  constructor(tell: (pressure: Pressure) => void, everyMs = EVERY_MS) {
    this.#tell = tell;
    this.#everyMs = everyMs;
  }

  /** Browsers open connections that they then do not need, so one without a first byte tells nothing; and
   *  what a single connection does takes no room of others. */
  closed(reason: CloseReason, address: string): void {
    if (reason === "first_byte" || reason === "handshake" || reason === "pipelined") return;
    this.#counts[reason] += 1;
    this.#lastAddress = address;
    if (this.#timer === undefined) this.#flush();
  }

  #flush(): void {
    this.#tell({ ...this.#counts, last_address: this.#lastAddress });
    this.#counts = { address: 0, total: 0, no_room: 0 };
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      const { address, total, no_room } = this.#counts;
      if (address + total + no_room > 0) this.#flush();
    }, this.#everyMs);
    this.#timer.unref();
  }
}
