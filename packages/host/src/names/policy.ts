// A guest's policy as it is decided by. The lists are as long as their writer likes within the contract's limits, and each connection, request
// and lookup is decided by them, so a decision must not cost more with longer lists.

import { cidrOf, type Cidr } from "@skerry/contract/cidrs";
import type { Egress } from "@skerry/contract/vms/egress";
import { Domains } from "./domains.ts";
import { Injecting } from "./injecting.ts";
import { parseIpv4 } from "../network/ipv4.ts";
import type { NamePolicy } from "../network/name-proxy-protocol.ts";

export interface Policy {
  readonly mode: Egress["mode"];
  readonly allowDomains: Domains;
  readonly denyDomains: Domains;
  readonly never: Networks;
  readonly denyCidrs: Networks;
  readonly privateNetworks: Networks;
  readonly openCidrs: Networks;
  /** Which lists of domains these are. */
  readonly mark: number;
  readonly injection: Injecting;
}

/** `before`: what the guest had, whose certificates go on. */
export function policyOf(named: NamePolicy, before?: Policy): Policy {
  return {
    mode: named.mode,
    allowDomains: new Domains(named.allow_domains),
    denyDomains: new Domains(named.deny_domains),
    never: new Networks(named.never),
    denyCidrs: new Networks(named.deny_cidrs),
    privateNetworks: new Networks(named.private_networks),
    openCidrs: new Networks(named.open_cidrs),
    mark: named.mark,
    injection: new Injecting(named, before?.injection),
  };
}

/** By prefix, the first addresses of the networks that have it. */
export class Networks {
  readonly #byPrefix = new Map<number, Set<number>>();

  constructor(cidrs: readonly string[]) {
    for (const { address, prefix } of cidrs.map((cidr): Cidr => cidrOf(cidr))) {
      const known = this.#byPrefix.get(prefix);
      if (known === undefined) this.#byPrefix.set(prefix, new Set([address]));
      else known.add(address);
    }
  }

  /** What is no IPv4 address is in all networks, so that nothing leads there. */
  has(address: string): boolean {
    const number = parseIpv4(address);
    if (number === undefined) return true;
    return [...this.#byPrefix].some(([prefix, first]) => first.has(number - (number % 2 ** (32 - prefix))));
  }
}
