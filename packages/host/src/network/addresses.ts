// The addresses between this machine and its slots: each slot gets a point-to-point pair of the host's range.
// The first pair belongs to no slot: from it comes the address where guests' name queries arrive.

import { addressesIn, formatIpv4, formatNetwork, parseNetwork, type Ipv4Network } from "./ipv4.ts";

/** Where ranges come from unless one is configured: RFC 2544 sets them aside for tests of network devices,
 *  so no public host has them. */
const DEFAULT_POOL: Ipv4Network = { base: 0xc6_12_00_00, prefix: 15 };
const DEFAULT_PREFIX = 19;
/** Each slot has a user id too, and a host has 4,096 of those, of which its proxies have two. */
const SLOTS_MAX = 4_094;
const PAIR_PREFIX = 31;
const PAIR = 2;
/** Room for one slot and the resolver. */
export const SMALLEST_RANGE_PREFIX = 30;

export interface AddressPair {
  /** This machine's end of the link. */
  readonly gateway: string;
  /** The slot's end. */
  readonly slot: string;
  readonly prefix: number;
}

export class AddressRange {
  readonly network: Ipv4Network;
  readonly cidr: string;
  /** How many slots it has addresses for. */
  readonly slots: number;
  /** Where name queries of all guests arrive. */
  readonly resolver: string;

  constructor(network: Ipv4Network) {
    this.network = network;
    this.cidr = formatNetwork(network);
    this.slots = Math.min(SLOTS_MAX, addressesIn(network.prefix) / PAIR - 1);
    this.resolver = formatIpv4(network.base + 1);
  }

  static parse(cidr: string): AddressRange {
    const network = parseNetwork(cidr);
    if (network === undefined) throw new Error(`"${cidr}" is not an IPv4 network`);
    return new AddressRange(network);
  }

  /** The pair of slot `number`, counted from 0. */
  pair(number: number): AddressPair {
    if (number < 0 || number >= this.slots) throw new RangeError(`${this.cidr} has no slot ${number}`);
    const base = this.network.base + (number + 1) * PAIR;
    return { gateway: formatIpv4(base), slot: formatIpv4(base + 1), prefix: PAIR_PREFIX };
  }
}

/** The default ranges in the order in which a host tries them. A host begins at its own place, so that two
 *  rarely meet. */
export function defaultRanges(seed: number): AddressRange[] {
  const count = 2 ** (DEFAULT_PREFIX - DEFAULT_POOL.prefix);
  return Array.from({ length: count }, (_, offset) => {
    const index = (seed + offset) % count;
    return new AddressRange({
      base: DEFAULT_POOL.base + index * addressesIn(DEFAULT_PREFIX),
      prefix: DEFAULT_PREFIX,
    });
  });
}
