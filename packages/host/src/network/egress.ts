// Loads policies into slots and reads back what they did. A slot's kernel state is the truth; nothing is kept here.

import { networkInterfaces } from "node:os";
import type { Egress, EgressReport } from "@skerry/contract/egress";
import type { AddressRange } from "./addresses.ts";
import { BASE_TABLE } from "./base-rules.ts";
import { readTraffic } from "./egress-report.ts";
import { listTable, loadRules } from "./inside.ts";
import { addressesIn, parseIpv4 } from "./ipv4.ts";
import { policyScript } from "./policy-rules.ts";
import type { Slot } from "./slots.ts";

export interface EgressOptions {
  readonly range: AddressRange;
  readonly resolverPort: number;
}

export class EgressRules {
  readonly #options: EgressOptions;

  constructor(options: EgressOptions) {
    this.#options = options;
  }

  /** The first policy of a slot, in force when it resolves. */
  load(slot: Slot, policy: Egress): Promise<void> {
    return this.#load(slot, policy, "first");
  }

  /** In force when it resolves, for open connections too; where it rejects, what was in force before still is. */
  replace(slot: Slot, policy: Egress): Promise<void> {
    return this.#load(slot, policy, "replace");
  }

  async report(slot: Slot, policy: Egress): Promise<EgressReport> {
    return { ...policy, ...readTraffic(await listTable("inet", BASE_TABLE, slot.netns), Date.now()) };
  }

  async #load(slot: Slot, policy: Egress, load: "first" | "replace"): Promise<void> {
    const { range, resolverPort } = this.#options;
    const facts = {
      hostAddresses: ownAddresses(range),
      slotRange: range.cidr,
      resolver: { address: range.resolver, port: resolverPort },
    };
    await loadRules(policyScript(policy, facts, load), slot.netns);
  }
}

/** This machine's IPv4 addresses as they are now, but for those of the range, which is refused whole. */
function ownAddresses(range: AddressRange): string[] {
  const { base, prefix } = range.network;
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
