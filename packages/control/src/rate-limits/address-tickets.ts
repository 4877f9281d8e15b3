// Tickets by address, in this process: for what has no token by which it could be limited. A bucket is full at first, and fills again evenly.

import { neighbourhood } from "@skerry/contract/connections/neighbourhood";
import { BoundedMap } from "../values/bounded-map.ts";

const MINUTE_MS = 60_000;
/** How many tickets an address may take in a row, in minutes' worth. */
const BURST_MINUTES = 0.5;
/** A bound of memory. Who is forgotten early begins anew. */
const ADDRESSES_MAX = 20_000;

export class AddressTickets {
  readonly #perMinute: number;
  readonly #burst: number;
  /** Tickets that an address still has, as of a moment. */
  readonly #addresses = new BoundedMap<string, { free: number; atMs: number }>(ADDRESSES_MAX);

  constructor(perMinute: number) {
    this.#perMinute = perMinute;
    this.#burst = Math.max(1, Math.floor(perMinute * BURST_MINUTES));
  }

  /** Seconds until the address has a ticket; 0: it has one. */
  waitS(address: string): number {
    const free = this.#free(neighbourhood(address));
    return free >= 1 ? 0 : Math.max(1, Math.ceil(((1 - free) * MINUTE_MS) / this.#perMinute / 1_000));
  }

  take(address: string): void {
    const key = neighbourhood(address);
    const free = this.#free(key) - 1;
    this.#addresses.set(key, { free, atMs: performance.now() });
  }

  #free(key: string): number {
    const entry = this.#addresses.get(key);
    if (entry === undefined) return this.#burst;
    const regained = ((performance.now() - entry.atMs) * this.#perMinute) / MINUTE_MS;
    return Math.min(this.#burst, entry.free + regained);
  }
}
