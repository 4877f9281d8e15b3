// Who sends tokens that are none. Counted by address, in this process: it protects the database from questions, not the tokens,
// which cannot be guessed. Neighbours share an address, so a client that has had a valid token is not held up by their failures.

import { BoundedMap } from "../values/bounded-map.ts";
import { AddressTickets } from "./address-tickets.ts";

/** A bound of memory. */
const SECRETS_MAX = 20_000;

export class AuthFailures {
  /** Each failure takes one. */
  readonly #tickets: AddressTickets;
  /** By their SHA-256. */
  readonly #knownSecrets = new BoundedMap<string, true>(SECRETS_MAX);

  constructor(perMinute: number) {
    this.#tickets = new AddressTickets(perMinute);
  }

  /** Seconds to wait before this secret is looked for; 0: none. */
  waitS(address: string, secretSha256: string): number {
    return this.#knownSecrets.has(secretSha256) ? 0 : this.#tickets.waitS(address);
  }

  failed(address: string): void {
    this.#tickets.take(address);
  }

  succeeded(secretSha256: string): void {
    this.#knownSecrets.set(secretSha256, true);
  }
}
