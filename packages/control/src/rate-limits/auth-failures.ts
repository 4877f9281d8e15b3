// Who sends tokens that are none. Counted by address, in this process: it protects the database from questions, not the tokens,
// which cannot be guessed. Neighbours share an address, so a client that has had a valid token is not held up by their failures.

import { BoundedMap } from "../values/bounded-map.ts";
import { AddressTickets } from "./address-tickets.ts";

/** A bound of memory. */
const PROOFS_MAX = 20_000;

export class AuthFailures {
  /** Each failure takes one. */
  readonly #tickets: AddressTickets;
  /** Digests of secrets, with what they were valid for. */
  readonly #known = new BoundedMap<string, true>(PROOFS_MAX);

  constructor(perMinute: number) {
    this.#tickets = new AddressTickets(perMinute);
  }

  /** Seconds to wait before this is looked for; 0: none. */
  waitS(address: string, proof: string): number {
    return this.#known.has(proof) ? 0 : this.#tickets.waitS(address);
  }

  /** What was valid once and is no more is limited from now on. */
  failed(address: string, proof: string): void {
    this.#known.delete(proof);
    this.#tickets.take(address);
  }

  succeeded(proof: string): void {
    this.#known.set(proof, true);
  }
}
