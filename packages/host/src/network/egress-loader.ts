// Loads egress policies into slots and reads their counters. The kernel holds the state of a slot; this class
// keeps none.

import type { Egress, HostEgressReport, HostEgress } from "@skerry/contract/vms/egress";
import type { AddressRange } from "./addresses.ts";
import { BASE_TABLE } from "./base-rules.ts";
import { readEgressReport } from "./egress-report.ts";
import { listTable, loadRules } from "./netns-exec.ts";
import { OwnAddresses } from "./own-addresses.ts";
import { policyRulesScript } from "./policy-rules.ts";
import type { Slot } from "./slot.ts";
import type { Slots } from "./slots.ts";

/** The policy of a guest without a user. Before it is loaded the slot passes nothing either. */
export const NO_EGRESS: Egress = {
  mode: "deny_all",
  allow_cidrs: [],
  deny_cidrs: [],
  allow_ports: [],
  dns: false,
};

export interface EgressOptions {
  readonly range: AddressRange;
  /** Networks that this machine's operator keeps from all guests. */
  readonly neverCidrs: readonly string[];
  readonly resolverPort: number;
  readonly slots: Slots;
}

export class EgressLoader {
  readonly #options: EgressOptions;

  readonly #own: OwnAddresses;

  constructor(options: EgressOptions) {
    this.#options = options;
    this.#own = new OwnAddresses(options.range);
  }

  /** The first policy of a slot, in force when it resolves. */
  async load(slot: Slot, policy: HostEgress): Promise<void> {
    await this.#options.slots.loadFirst(slot, this.#script(policy, "first"));
  }

  /** In force when it resolves, for open connections too; where it rejects, the earlier policy stays in
   *  force. */
  async replace(slot: Slot, policy: HostEgress): Promise<void> {
    await loadRules(this.#script(policy, "replace"), slot);
  }

  async report(slot: Slot, inForce: HostEgress): Promise<HostEgressReport> {
    const { private_cidrs: _, ...policy } = inForce;
    return { ...policy, ...readEgressReport(await listTable("inet", BASE_TABLE, slot), Date.now()) };
  }

  #script(policy: HostEgress, load: "first" | "replace"): string {
    const { range, neverCidrs, resolverPort } = this.#options;
    const facts = {
      hostAddresses: this.#own.list(),
      slotRange: range.cidr,
      neverCidrs,
      resolver: { address: range.resolver, port: resolverPort },
    };
    return policyRulesScript(policy, facts, load);
  }
}
