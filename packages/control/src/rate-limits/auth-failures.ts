// Who sends tokens that are none. Counted by address, in this process: it protects the database from questions, not the tokens,
// which cannot be guessed. Neighbours share an address, so a client that has had a valid token is not held up by their failures.

import { isIPv6 } from "node:net";
import { BoundedMap } from "../values/bounded-map.ts";

const MINUTE_MS = 60_000;
/** How many failures in a row an address may have, in minutes' worth. */
const BURST_MINUTES = 0.5;
/** Bounds of memory. Who is forgotten early begins anew. */
const ADDRESSES_MAX = 20_000;
const SECRETS_MAX = 20_000;

export class AuthFailures {
  readonly #perMinute: number;
  readonly #burst: number;
  /** Failures that an address still has free, as of a moment. */
  readonly #addresses = new BoundedMap<string, { free: number; atMs: number }>(ADDRESSES_MAX);
  /** By their SHA-256. */
  readonly #knownSecrets = new BoundedMap<string, true>(SECRETS_MAX);

  constructor(perMinute: number) {
    this.#perMinute = perMinute;
    this.#burst = Math.max(1, Math.floor(perMinute * BURST_MINUTES));
  }

  /** Seconds to wait before this secret is looked for; 0: none. */
  waitS(address: string, secretSha256: string): number {
    const free = this.#free(neighbourhood(address));
    if (free >= 1 || this.#knownSecrets.has(secretSha256)) return 0;
    return Math.max(1, Math.ceil(((1 - free) * MINUTE_MS) / this.#perMinute / 1_000));
  }

  failed(address: string): void {
    const key = neighbourhood(address);
    const free = this.#free(key) - 1;
    this.#addresses.set(key, { free, atMs: performance.now() });
  }

  succeeded(secretSha256: string): void {
    this.#knownSecrets.set(secretSha256, true);
  }

  #free(key: string): number {
    const entry = this.#addresses.get(key);
    if (entry === undefined) return this.#burst;
    const regained = ((performance.now() - entry.atMs) * this.#perMinute) / MINUTE_MS;
    return Math.min(this.#burst, entry.free + regained);
  }
}

/** What one customer of a provider has: an IPv4 address, or a /64 of IPv6. */
export function neighbourhood(address: string): string {
  const [plain = ""] = address.split("%");
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(plain) ?? [];
  if (mapped !== undefined || !isIPv6(plain)) return mapped ?? plain;
  const [head = "", tail] = plain.toLowerCase().split("::");
  const before = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => "0");
  const groups = [...before, ...(tail === undefined ? [] : zeros), ...after].slice(0, 4);
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(":")}::/64`;
}
