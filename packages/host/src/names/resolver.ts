// Resolves names for one guest, by this machine's name servers. The guest has no say in it: not its own answers, nor the addresses that it
// connects to. What is kept is kept for each guest apart, so that no answer's speed tells what another guest has asked for.

import { Resolver as DnsResolver } from "node:dns/promises";
import type { NameServer } from "../network/name-servers.ts";

export interface Resolved {
  /** IPv4. None: there is no such name, or it has no IPv4 address. */
  readonly addresses: readonly string[];
  readonly ttlS: number;
}

interface Kept extends Resolved {
  readonly untilMs: number;
}

const CACHE_MAX = 256;
const ADDRESSES_MAX = 32;
/** A name with no time to live would be asked for with each connection. */
const TTL_S = { least: 1, most: 300, none: 5 } as const;
const ANSWER_DEADLINE_MS = 2_000;
const TRIES = 2;
const NO_SUCH = new Set(["ENOTFOUND", "ENODATA"]);

export class Resolver {
  readonly #servers: () => Promise<readonly NameServer[]>;
  readonly #kept = new Map<string, Kept>();
  readonly #asked = new Map<string, Promise<Resolved | undefined>>();

  constructor(servers: () => Promise<readonly NameServer[]>) {
    this.#servers = servers;
  }

  /** Undefined where no server answers. `name` is canonical. */
  resolve(name: string): Promise<Resolved | undefined> {
    const kept = this.#kept.get(name);
    if (kept !== undefined && kept.untilMs > performance.now()) return Promise.resolve(kept);
    this.#kept.delete(name);
    let asked = this.#asked.get(name);
    if (asked === undefined) {
      asked = this.#ask(name).finally(() => this.#asked.delete(name));
      this.#asked.set(name, asked);
    }
    return asked;
  }

  async #ask(name: string): Promise<Resolved | undefined> {
    const servers = await this.#servers();
    if (servers.length === 0) return undefined;
    const resolver = new DnsResolver({ timeout: ANSWER_DEADLINE_MS, tries: TRIES });
    resolver.setServers(
      servers.map(({ address, port }) =>
        address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`,
      ),
    );
    const records = await resolver.resolve4(name, { ttl: true }).catch((error: unknown) => {
      return isNoSuch(error) ? [] : undefined;
    });
    if (records === undefined) return undefined;
    const addresses = records.slice(0, ADDRESSES_MAX).map(({ address }) => address);
    const least = records.length === 0 ? TTL_S.none : Math.min(...records.map(({ ttl }) => ttl));
    const ttlS = Math.min(Math.max(least, TTL_S.least), TTL_S.most);
    const kept = { addresses, ttlS, untilMs: performance.now() + ttlS * 1_000 };
    const [oldest] = this.#kept.keys();
    if (this.#kept.size >= CACHE_MAX && oldest !== undefined) this.#kept.delete(oldest);
    this.#kept.set(name, kept);
    return kept;
  }
}

function isNoSuch(error: unknown): boolean {
  return error instanceof Error && "code" in error && NO_SUCH.has(String(error.code));
}
