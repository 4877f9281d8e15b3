// This machine's own addresses, which no guest may reach. A policy that was loaded before an address was
// added does not name it; the machine's own table refuses it all the same, so what is a little old here costs
// a word in a report and opens nothing.

import { networkInterfaces } from "node:os";
import type { AddressRange } from "./addresses.ts";
import { addressesIn, parseIpv4 } from "./ipv4.ts";

/** Asking the kernel takes longer with each slot: 0.3 ms with 10 and 5 ms with 200. */
const MAX_AGE_MS = 5_000;

export class OwnAddresses {
  readonly #range: AddressRange;
  #listed: readonly string[] = [];
  #listedAtMs = -Infinity;

  constructor(range: AddressRange) {
    this.#range = range;
  }

  /** IPv4, without those of the range, which is refused whole. */
  list(): readonly string[] {
    if (performance.now() - this.#listedAtMs > MAX_AGE_MS) {
      this.#listed = this.#ask();
      this.#listedAtMs = performance.now();
    }
    return this.#listed;
  }

  #ask(): string[] {
    const { base, prefix } = this.#range.network;
    const all = Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .filter(({ family }) => family === "IPv4")
      .map(({ address }) => address)
      .filter((address) => {
        const number = parseIpv4(address);
        return number !== undefined && (number < base || number >= base + addressesIn(prefix));
      });
    return [...new Set(all)].sort();
  }
}
